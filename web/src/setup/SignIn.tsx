import { KeyRound, LogIn } from "lucide-react";
import { useEffect, useState } from "react";
import { t } from "../texts/start";
import { Button } from "../ui/Button";
import { Logo } from "../ui/Logo";
import { api, given } from "../wire/client";
import { isLinkRefused, onSessionChange, redeemCode, signIn } from "../wire/session";

/** Asks for the server's token. Signing in in another tab of this browser is enough. */
export function SignIn() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState(isLinkRefused() ? t.thisLinkIsUsedUp : null);
  const [busy, setBusy] = useState(false);
  const enter = async () => {
    setBusy(true);
    const signedIn = await signIn({ token: token.trim() });
    setBusy(false);
    if (signedIn === "yes") return location.reload(); // the address stays, and with it the chat
    setProblem(signedIn === "no" ? t.thisTokenIsNotThe : t.theServerDoesNotAnswer);
  };
  const provider = useSignOn();
  useEffect(() => onSessionChange(() => location.reload()), []);
  useEffect(() => void redeemCode().then((redeemed) => redeemed && location.reload()), []); // one that nobody answered
  return (
    <main className="flex h-full items-center justify-center p-6">
      <form
        className="w-full max-w-sm"
        onSubmit={(event) => {
          event.preventDefault();
          void enter();
        }}
      >
        <div className="mb-6 flex items-center gap-3">
          <Logo />
          <h1 className="text-xl font-semibold tracking-tight">{t.anycowork}</h1>
        </div>
        {provider && (
          <a
            href="/openid/sign-in"
            className="flex min-h-10 items-center justify-center gap-2 rounded-lg bg-ink px-3 text-sm font-medium text-paper hover:opacity-90"
          >
            <LogIn size={15} aria-hidden /> {t.signInWith(provider)}
          </a>
        )}
        {provider && (
          <p className="my-5 flex items-center gap-3 text-sm text-ink-2 before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
            {t.or}
          </p>
        )}
        <label htmlFor="token" className="text-sm text-ink-2">
          {t.pasteYourToken} <code className="font-mono text-[13px]">{t.token}</code> {t.ofTheDataFolderOn}{" "}
          <code className="font-mono text-[13px]">{t.anycoworkOpen}</code> {t.opensThisPageSignedIn}
        </label>
        <div className="mt-3 flex gap-2">
          <input
            id="token"
            type="password"
            autoComplete="current-password"
            autoFocus
            value={token}
            onChange={({ target }) => setToken(target.value)}
            className="min-h-10 min-w-0 flex-1 rounded-lg border border-line-strong bg-surface px-3"
          />
          <Button
            look={provider ? "plain" : "primary"}
            type="submit"
            icon={<KeyRound size={15} aria-hidden />}
            disabled={busy || !token.trim()}
          >
            {t.enter}
          </Button>
        </div>
        {problem && (
          <p role="alert" className="mt-2 text-sm text-bad">
            {problem}
          </p>
        )}
      </form>
    </main>
  );
}

/** The provider with which people sign on here; null without one. Nobody is signed in yet, so nothing is sent but the question. */
function useSignOn(): string | null {
  const [provider, setProvider] = useState<string | null>(null);
  useEffect(() => {
    void given(api.GET("/openid"))
      .then(({ name }) => setProvider(name))
      .catch(() => null);
  }, []);
  return provider;
}
