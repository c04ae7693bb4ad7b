import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App, loadChatPage } from "./App";
import { applyTheme, followPreferences } from "./browser/preferences";
import { followTaps } from "./notifications/push";
import { chatAt, openChat } from "./state/live";
import { language } from "./texts/language";
import { Refusal } from "./wire/client";
import { redeemCode } from "./wire/session";
import "./style.css";

document.documentElement.lang = language;
applyTheme();
followPreferences();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode: "always", // the server may be this machine: without a network it answers all the same
      retry: (count, error) => count < 3 && !(error instanceof Refusal && error.status >= 400 && error.status < 500),
      refetchOnWindowFocus: false,
    },
  },
});

void start();
followTaps();

async function start(): Promise<void> {
  await redeemCode();
  // A link that is pasted into an open page loads nothing anew.
  window.addEventListener("hashchange", () => void redeemCode().then((redeemed) => redeemed && location.reload()));
  if (chatAt(location.hash)) void loadChatPage();
  void openChat(chatAt(location.hash)); // its messages are on their way while the page is put together
  createRoot(document.getElementById("root")!).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
}
