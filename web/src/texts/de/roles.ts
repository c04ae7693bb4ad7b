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
  mayDoNothing: "hat keine Rechte",
  may: {
    read_files: "liest",
    write_files: "ändert",
    create_files: "legt an",
    delete_files: "löscht",
    execute_commands: "führt Befehle aus",
  },
};
