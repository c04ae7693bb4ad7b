// German texts for refusals of the server, by the code of the error. A text that names no detail is followed by the server's own
// sentence if that has one that counts. `tests/unit/api/test_german_refusals.py` lists the codes that have no text here.
const REFUSALS: Record<string, string> = {
  already_answered: "Diese Frage ist schon beantwortet.",
  already_decided: "Darüber ist schon entschieden.",
  built_in:
    "Das gehört zu AnyCowork und kann nicht geändert werden. Legen Sie eine eigene Fassung mit anderem Namen an.",
  content_changed: "Der Inhalt hat sich inzwischen geändert. Laden Sie ihn neu.",
  content_elsewhere: "Dieser Inhalt liegt im Datenordner eines anderen Servers. Stellen Sie ihn dort wieder her.",
  database_away: "Die Datenbank ist gerade nicht erreichbar. Versuchen Sie es gleich noch einmal.",
  idempotency_in_flight: "Diese Anfrage läuft schon.",
  no_provider: "Es ist kein Modell verbunden. Verbinden Sie eines unter Einstellungen → Modelle.",
  not_allowed: "Ihr Zugang reicht dafür nicht aus.",
  not_as_shown: "Was entschieden würde, ist nicht mehr das, was angezeigt wurde. Sehen Sie es sich noch einmal an.",
  not_confirmed:
    "Diese Anmeldung ist noch nicht bestätigt. Geben Sie die sechs Ziffern ein, die im Terminal neben dem Link stehen, oder melden Sie sich mit Ihrem Token an.",
  not_ready: "Der Server ist noch nicht bereit. Versuchen Sie es gleich noch einmal.",
  not_trusted: "Diesem Inhalt wird noch nicht vertraut. Lesen Sie ihn, und vertrauen Sie ihm zuerst.",
  nothing_to_compact: "Hier gibt es nichts zusammenzufassen.",
  nothing_to_continue: "Hier gibt es nichts fortzusetzen.",
  nothing_to_dismiss: "Hier wartet nichts, was verworfen werden könnte.",
  plan_already_approved: "Dieser Plan ist schon freigegeben.",
  plan_superseded: "Diesen Plan hat ein neuerer ersetzt.",
  snapshot_pruned: "Der Inhalt dieses Checkpoints wurde entfernt, um Platz für neuere zu machen.",
  taken_over: "Ein anderer Server hat diesen Chat übernommen. Laden Sie die Seite neu.",
  too_many_values: "Die Anfrage hat zu viele Werte. Senden Sie sie in mehreren Teilen.",
  too_slow: "Die Anfrage kam zu langsam an. Versuchen Sie es noch einmal.",
  turn_running: "In diesem Chat läuft noch eine Antwort. Warten Sie, oder halten Sie sie an.",
  unauthenticated: "Ihre Anmeldung gilt nicht mehr. Melden Sie sich neu an.",
};

/** The server's sentence names a path, a name or a limit that people need. */
const WITH_DETAIL: Record<string, string> = {
  bad_settings: "Diese Einstellung passt nicht.",
  bad_role: "Diese Rolle ist so nicht gültig.",
  bad_workflow: "Dieser Workflow ist so nicht gültig.",
  bad_workspace: "Dieser Ordner kann kein Arbeitsbereich sein.",
  chat_held: "Dieser Chat wird gerade anderswo bearbeitet.",
  lease_held: "In diesem Arbeitsbereich schreibt gerade ein anderer Server.",
  needs_confirmation: "Das muss bestätigt werden.",
  no_room: "Auf der Festplatte ist nicht genug Platz.",
  restore_conflict: "Beim Wiederherstellen würde Neueres überschrieben. Es wurde nichts geändert.",
  snapshot_damaged: "Dieser Checkpoint ist beschädigt.",
  storage_failed: "Das konnte nicht gespeichert werden.",
  too_large: "Das ist zu groß.",
  unfitting_parameters: "Die Angaben passen nicht zum Workflow.",
  unknown_role: "Diese Rolle gibt es nicht.",
  unknown_workflow: "Diesen Workflow gibt es nicht.",
};

export function refusal(code: string, english: string): string {
  if (Object.hasOwn(REFUSALS, code)) return REFUSALS[code] ?? english;
  if (Object.hasOwn(WITH_DETAIL, code)) return withDetail(WITH_DETAIL[code], english);
  return code.endsWith("_not_found") ? withDetail("Das gibt es hier nicht oder nicht mehr.", english) : english;
}

const withDetail = (german: string | undefined, english: string): string => `${german} (Server: ${english})`;
