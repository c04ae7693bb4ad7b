import clsx from "clsx";
import { Bell, Languages, LogOut, Monitor, Moon, Sun, Volume2 } from "lucide-react";
import { setPreference, usePreference } from "../browser/preferences";
import { chime } from "../state/chime";
import { LANGUAGES } from "../texts/language";
import { t } from "../texts/settings";
import { Button } from "../ui/Button";
import { INPUT } from "../ui/Field";
import { radioKeys } from "../ui/radios";
import { say } from "../ui/toasts";
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
      <div className="flex flex-wrap items-center gap-3 text-sm">
        <Bell size={16} aria-hidden className="text-ink-3" />
        <span id="notices" className="flex-1">
          {t.tellMeWhenSomethingWaits}
        </span>
        <Button
          id="notices-on"
          aria-labelledby="notices notices-on"
          aria-pressed={notices}
          onClick={() => void toggle(notices)}
        >
          {notices ? t.on : t.off}
        </Button>
      </div>
      <div className="flex flex-wrap items-center gap-3 text-sm">
        <Volume2 size={16} aria-hidden className="text-ink-3" />
        <span id="sound" className="flex-1">
          {t.withASoftSound}
        </span>
        <Button
          id="sound-on"
          aria-labelledby="sound sound-on"
          aria-pressed={sound}
          onClick={() => {
            setPreference("sound", sound ? "off" : "on");
            if (!sound) chime();
          }}
        >
          {sound ? t.on : t.off}
        </Button>
      </div>
      <div className="flex flex-wrap items-center gap-3 text-sm">
        <LogOut size={16} aria-hidden className="text-ink-3" />
        <span className="flex-1">{t.endThisBrowsersSessionSigning}</span>
        <Button onClick={() => void signOut()}>{t.signOut}</Button>
      </div>
    </div>
  );
}

async function toggle(on: boolean): Promise<void> {
  if (on) return setPreference("notifications", "off");
  if (typeof Notification === "undefined") return say(t.thisBrowserShowsNoNotifications, "problem");
  const allowed = await Notification.requestPermission();
  if (allowed === "granted") setPreference("notifications", "on");
  else say(t.theBrowserDoesNotAllow, "problem");
}
