// German texts of roles.
import type { Texts } from "../roles";

export const roles: Texts = {
  roleChangeRole: (title: string | number) => `Rolle: ${title}. Rolle ändern`,
  roles: "Rollen",
  whoShouldTheAgentBe: "Rolle wählen",
  currentRole: "aktuelle Rolle",
  switchTo: (title: string | number) => `Zu ${title} wechseln?`,
  whatIsDoneStaysDone: "Erledigtes bleibt. Offene Freigaben und Fragen werden zurückgezogen.",
  keepWorking: "Weiterarbeiten",
  stopAndSwitch: "Anhalten und wechseln",
  theDefinitionOfTheRole: (name: string | number) =>
    `Die Rolle „${name}“ gibt es nicht mehr. Wählen Sie eine andere Rolle.`,
  tooltips: {
    planner: "Planner liest und plant. Er kann nichts ändern und keine Befehle ausführen.",
    actor: "Actor erledigt die Arbeit: Er liest, ändert, legt an und löscht Dateien und führt Befehle aus.",
    commander: "Commander liest, plant und gibt Aufgaben an Planner und Actor. Er selbst ändert nichts.",
    designer: "Designer liest und legt neue Dateien an. Er ändert und löscht nichts, was schon da ist.",
    reviewer: "Reviewer liest und gibt ein gegliedertes Review. Er ändert nichts.",
    tester: "Tester liest und führt Prüfungen aus. Der Quelltext bleibt, wie er ist, was ein Befehl auch tut.",
  },
  mayDoNothing: "hat keine Rechte",
  may: {
    read_files: "liest",
    write_files: "ändert",
    create_files: "legt an",
    delete_files: "löscht",
    execute_commands: "führt Befehle aus",
  },
  permissions: {
    read_files: "Dateien lesen",
    write_files: "Dateien ändern",
    create_files: "Dateien anlegen",
    delete_files: "Dateien löschen",
    execute_commands: "Befehle ausführen",
  },
  otherUses: {
    move: "Dateien verschieben",
    fetch: "Webseiten lesen",
    search_web: "Im Web suchen",
    ask: "Andere Agenten fragen",
  },
};
