// German texts for fixed sentences of the server, by their English words. `tests/unit/server/test_german_sentences.py` compares both.
import type { Texts } from "../server";
import { refusal } from "./refusals";

const SENTENCES: Record<string, string> = {
  "a command sees the system and the listed tools read-only, its workspace, and a private home and tmp; nothing else of the machine":
    "Ein Befehl sieht das System und die genannten Werkzeuge nur lesend, seinen Arbeitsbereich sowie ein privates Home und tmp; sonst nichts vom Rechner",
  "what it writes into the listed package caches stays in a layer of its workspace; the real caches never change":
    "Was er in die genannten Paket-Caches schreibt, bleibt in einer Schicht seines Arbeitsbereichs; die echten Caches ändern sich nie",
  "its changes in the workspace are checked as a whole, then committed together or dropped":
    "Seine Änderungen im Arbeitsbereich werden als Ganzes geprüft und dann zusammen übernommen oder verworfen",
  "no network except to the hosts that the call names, through a proxy; no services of this machine, no signals to other processes":
    "Kein Netz außer zu den Hosts, die der Aufruf nennt, über einen Proxy; keine Dienste dieses Rechners, keine Signale an andere Prozesse",
  "limits on time, output, processes, memory per process, and the size of a file":
    "Grenzen für Zeit, Ausgabe, Prozesse, Arbeitsspeicher je Prozess und die Größe einer Datei",
  "The answer ends here because the model reached its limit of tokens for one answer. Ask it to go on.":
    "Die Antwort endet hier, weil das Modell seine Grenze an Token für eine Antwort erreicht hat. Bitten Sie es fortzufahren.",
  "no process of it is left running": "Keiner seiner Prozesse läuft danach weiter",
  "file tools work on threads that the kernel limits to what the role may do, in its workspace only (except modes and times)":
    "Dateiwerkzeuge laufen in Threads, die der Kernel auf das begrenzt, was die Rolle darf, und nur in ihrem Arbeitsbereich (außer Dateirechte und Zeiten)",
  "file tools are limited only by the server's own checks: this kernel has no Landlock, or does not allow its use":
    "Dateiwerkzeuge begrenzt nur die Prüfung des Servers selbst: Dieser Kernel hat kein Landlock oder erlaubt es nicht",
  "memory is limited for each process, not for all of a command's processes together":
    "Der Arbeitsspeicher ist je Prozess begrenzt, nicht für alle Prozesse eines Befehls zusammen",
  "the number of processes is not limited: the server runs as root, where only a cgroup could do that":
    "Die Zahl der Prozesse ist nicht begrenzt: Der Server läuft als root, und dort könnte das nur eine cgroup",
  "commands run with the server's own rights: they can read and change whatever it can, and use the network":
    "Befehle laufen mit den Rechten des Servers: Sie können lesen und ändern, was er kann, und das Netz benutzen",
  "so each one asks first, only roles that may change everything run any, and nothing undoes what they did":
    "Deshalb fragt jeder zuerst, nur Rollen mit allen Rechten führen welche aus, und nichts macht ihre Wirkung rückgängig",
  "A small model: it carries out short tasks on files and commands, one at a time. It is no reasoner: let it run commands to count or calculate, look at every approval, and use a larger model for long work.":
    "Ein kleines Modell: Es erledigt kurze Aufgaben mit Dateien und Befehlen, eine nach der anderen. Schlussfolgern kann es kaum: Lassen Sie es zum Zählen und Rechnen Befehle ausführen, sehen Sie jede Freigabe an, und nehmen Sie für lange Arbeit ein größeres Modell.",
  "The smallest: quicker, and wrong more often than right. It finds and shows files; give it single steps only.":
    "Das kleinste: schneller, aber öfter falsch als richtig. Es findet und zeigt Dateien; geben Sie ihm nur einzelne Schritte.",
  "Stopped by the person.": "Der Agent wurde angehalten.",
  "Continued where it stopped.": "Dort fortgesetzt, wo es aufgehört hatte.",
  "The plan was set aside.": "Der Plan wurde zurückgestellt.",
  "The plan was dropped.": "Der Plan wurde verworfen.",
  "The turn is not continued.": "Der Zug wird nicht fortgesetzt.",
  "The server was stopped during this turn. The job continues automatically.":
    "Der Server wurde während dieses Zuges beendet. Der Job läuft von selbst weiter.",
  "The server was stopped during this turn. Continue it, or send a message.":
    "Der Server wurde während dieses Zuges beendet. Setzen Sie ihn fort, oder senden Sie eine Nachricht.",
  "The server ended during this turn. The job continues automatically.":
    "Der Server endete während dieses Zuges. Der Job läuft von selbst weiter.",
  "The server ended during this turn. Continue it, or send a message.":
    "Der Server endete während dieses Zuges. Setzen Sie ihn fort, oder senden Sie eine Nachricht.",
  "Your own file: what it can do is for you to find out.":
    "Ihre eigene Datei: Was sie kann, müssen Sie selbst ausprobieren.",
};

/** Sentences with a part that differs. */
const PATTERNS: readonly [RegExp, (...parts: string[]) => string][] = [
  [
    /^a workspace with other mounts in it is copied for each command; in one of more than (.*) \(command_copy_bytes\) no command runs then$/,
    (size) =>
      `Ein Arbeitsbereich, in den anderes eingehängt ist, wird für jeden Befehl kopiert; in einem von mehr als ${germanSize(size)} (command_copy_bytes) läuft dann kein Befehl`,
  ],
  [
    /^no overlay can be mounted here \((.*)\), so a command works on a private copy of its workspace, which takes time and space; in one of more than (.*) \(command_copy_bytes\) no command runs$/,
    (why, size) =>
      `Hier kann kein Overlay eingehängt werden (${why}), deshalb arbeitet ein Befehl auf einer privaten Kopie seines Arbeitsbereichs, was Zeit und Platz kostet; in einem von mehr als ${germanSize(size)} (command_copy_bytes) läuft kein Befehl`,
  ],
];

export const server: Texts = {
  sentence: (english) => SENTENCES[english] ?? matched(english) ?? english,
  refusal,
};

/** The server writes 2.0 GB; a German page writes 2,0 GB. */
const germanSize = (size: string): string => size.replace(".", ",");

function matched(english: string): string | undefined {
  for (const [pattern, words] of PATTERNS) {
    const found = pattern.exec(english);
    if (found) return words(...found.slice(1));
  }
  return undefined;
}
