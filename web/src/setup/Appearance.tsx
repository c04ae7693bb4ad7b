import clsx from "clsx";
import { Bell, Languages, LogOut, Monitor, Moon, Sun, Volume2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { setPreference, usePreference } from "../browser/preferences";
import { chime } from "../state/chime";
import { LANGUAGES } from "../texts/language";
import { t } from "../texts/settings";
import { Button } from "../ui/Button";
import { INPUT } from "../ui/Field";
import { radioKeys } from "../ui/radios";
import { RefusalNote } from "../ui/refusal";
import { signOut } from "../wire/session";

const THEMES = [
  { name: "system", label: t.asTheSystem, Icon: Monitor },
  { name: "light", label: t.light, Icon: Sun },
  { name: "dark", label: t.dark, Icon: Moon },
] as const;

/** The texts are chosen when the page is loaded, so another language loads it again. What was typed is kept. */
function LanguageChoice() {
  const chosen = usePreference("language") ?? "";
  return (
    <label className="flex flex-wrap items-center gap-3 text-sm">
      <Languages size={16} aria-hidden className="text-ink-3" />
      <span className="flex-1">{t.language}</span>
      <select
        value={chosen}
        onChange={({ target }) => {
          setPreference("language", target.value);
          location.reload();
        }}
        className={clsx(INPUT, "!w-auto")}
      >
        <option value="">{t.languageAsBrowser}</option>
        {Object.entries(LANGUAGES).map(([name, title]) => (
          <option key={name} value={name} lang={name}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Appearance() {
  const theme = usePreference("theme") ?? "system";
  const notices = usePreference("notifications") === "on";
  const sound = usePreference("sound") === "on";
  const [problem, setProblem] = useState("");
  return (
    <div className="space-y-4 rounded-2xl border border-line bg-surface p-4">
      <div
        role="radiogroup"
        aria-label={t.theme}
        onKeyDown={radioKeys(
          THEMES.map(({ name }) => name),
          theme,
          (name) => setPreference("theme", name),
        )}
        className="flex flex-wrap gap-2"
      >
        {THEMES.map(({ name, label, Icon }) => (
          <button
            key={name}
            type="button"
            role="radio"
            aria-checked={theme === name}
            tabIndex={theme === name ? 0 : -1}
            onClick={() => setPreference("theme", name)}
            className={clsx(
              "inline-flex min-h-9 items-center gap-2 rounded-lg border px-3.5 text-sm",
              theme === name ? "border-ink-3 bg-sunken font-medium" : "border-line text-ink-2 hover:bg-sunken",
            )}
          >
            <Icon size={15} aria-hidden /> {label}
          </button>
        ))}
      </div>
      <LanguageChoice />
      <Choice icon={<Bell size={16} aria-hidden className="text-ink-3" />} label={t.tellMeWhenSomethingWaits}>
        <input
          type="checkbox"
          checked={notices}
          onChange={({ target }) => void turnNotices(target.checked).then(setProblem)}
        />
      </Choice>
      {problem && <RefusalNote words={problem} />}
      <Choice icon={<Volume2 size={16} aria-hidden className="text-ink-3" />} label={t.withASoftSound}>
        <input
          type="checkbox"
          checked={sound}
          onChange={({ target }) => {
            setPreference("sound", target.checked ? "on" : "off");
            if (target.checked) chime();
          }}
        />
      </Choice>
      <div className="flex flex-wrap items-center gap-3 text-sm">
        <LogOut size={16} aria-hidden className="text-ink-3" />
        <span className="flex-1">{t.endThisBrowsersSessionSigning}</span>
        <Button onClick={() => void signOut()}>{t.signOut}</Button>
      </div>
    </div>
  );
}

function Choice({ icon, label, children }: { icon: ReactNode; label: string; children: ReactNode }) {
  return (
    <label className="flex min-h-9 flex-wrap items-center gap-3 text-sm thumb:min-h-11">
      {icon}
      <span className="flex-1">{label}</span>
      {children}
    </label>
  );
}

/** Returns why the browser shows no notifications, "" if there is no reason. */
async function turnNotices(on: boolean): Promise<string> {
  if (!on) {
    setPreference("notifications", "off");
    return "";
  }
  if (typeof Notification === "undefined") return t.thisBrowserShowsNoNotifications;
  if ((await Notification.requestPermission()) !== "granted") return t.theBrowserDoesNotAllow;
  setPreference("notifications", "on");
  return "";
}
