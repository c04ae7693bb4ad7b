// German texts of people.
import type { Texts } from "../people";

export const people: Texts = {
  page: "Personen",
  title: "Personen",
  about: "Wer auf diesem Server arbeitet. Jede Person hat ein eigenes Token; Chats gehören allen gemeinsam.",
  onlyYou: "Bisher nur Sie. Fügen Sie jemanden hinzu, um zusammenzuarbeiten.",
  name: "Name",
  access: "Zugriff",
  accessOf: (name) => `Zugriff von ${name}`,
  add: "Person hinzufügen",
  levels: { admin: "Admin", member: "Mitglied", viewer: "Nur lesen" },
  whatLevelsMay: "Admins dürfen alles, Mitglieder arbeiten und genehmigen, andere lesen nur.",
  owner: "Eigentümer",
  newToken: (name) => `Neues Token für ${name} erstellen`,
  remove: (name) => `${name} entfernen`,
  removeTitle: (name) => `${name} entfernen?`,
  removeWords: "Token und Browser dieser Person gelten sofort nicht mehr. Was sie getan hat, behält ihren Namen.",
  newTokenTitle: (name) => `Neues Token für ${name}?`,
  newTokenWords: "Das alte Token und die damit angemeldeten Browser gelten sofort nicht mehr.",
  confirmRemove: "Entfernen",
  confirmToken: "Neues Token erstellen",
  cancel: "Abbrechen",
  removed: (name) => `${name} wurde entfernt.`,
  tokenOf: (name) => `Das Token von ${name}. Kopieren Sie es jetzt: Es wird nicht wieder gezeigt.`,
  theToken: "Das neue Token",
  copyToken: "Token kopieren",
  done: "Fertig",
  youAre: (name, level) => `Angemeldet als ${name} (${level})`,
  settingsForAdmins: "Die übrigen Einstellungen ändern nur Admins.",
  readOnly: "Sie dürfen hier nur lesen. Ein Admin kann das unter Einstellungen, Personen ändern.",
  waitsForOthers: (count) =>
    count === 1
      ? "Ein Aufruf wartet auf jemanden, der genehmigen darf."
      : `${count} Aufrufe warten auf jemanden, der genehmigen darf.`,
  approvedBy: (name) => `${name} hat den Plan genehmigt`,
  theOwner: "Der Eigentümer",
};
