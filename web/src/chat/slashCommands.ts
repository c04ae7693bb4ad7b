// What the commands of the composer do.

import { FORMATS } from "../composer/commandSuggestions";
import type { CommandName } from "../composer/inputSyntax";
import * as acts from "../state/acts";
import type { ChatView } from "../state/reduce";
import { t } from "../texts/composer";
import { attempt, say } from "../ui/outcomes";
import { saveExport } from "./saveExport";

interface Ways {
  onSwitch: (role: string) => void;
  onCheckpoints: () => void;
  /** null: the person chooses from a list. */
  onModel: (model: string | null) => void;
  onRemember: (note: string) => void;
}

/** False: what was typed after the command is none of the choices. */
export function doCommand(
  view: ChatView,
  command: Exclude<CommandName, "help">,
  text: string,
  { onSwitch, onCheckpoints, onModel, onRemember }: Ways,
): boolean {
  switch (command) {
    case "model":
      onModel(text || null);
      return true;
    case "role":
      if (text) onSwitch(text);
      else document.getElementById("role-selector")?.focus();
      return true;
    case "new":
      location.hash = "#/";
      return true;
    case "restore":
      onCheckpoints();
      return true;
    case "remember":
      onRemember(text);
      return true;
    case "compact":
      void attempt(acts.compact(view.id)).then((done) => done && say(t.compactedNow));
      return true;
    case "export": {
      const format = FORMATS.find((one) => one === (text || "markdown"));
      if (!format) say(t.noSuchCommandArgument(text), "problem");
      else void attempt(saveExport(view.id, format));
      return format !== undefined;
    }
  }
}
