// The German texts, by area. The page waits for this file: it loads nothing but its own folder.
import { app } from "./app";
import { approvals } from "./approvals";
import { autonomy } from "./autonomy";
import { chat } from "./chat";
import { chats } from "./chats";
import { checkpoints } from "./checkpoints";
import { composer } from "./composer";
import { definitions } from "./definitions";
import { evidence } from "./evidence";
import { files } from "./files";
import { fork } from "./fork";
import { git } from "./git";
import { jobs } from "./jobs";
import { limits } from "./limits";
import { mcp } from "./mcp";
import { messages } from "./messages";
import { models } from "./models";
import { notifications } from "./notifications";
import { people } from "./people";
import { plans } from "./plans";
import { pushed } from "./pushed";
import { queue } from "./queue";
import { roles } from "./roles";
import { rules } from "./rules";
import { schedules } from "./schedules";
import { server } from "./server";
import { settings } from "./settings";
import { skills } from "./skills";
import { start } from "./start";
import { state } from "./state";
import { terminal } from "./terminal";
import { ui } from "./ui";
import { usage } from "./usage";
import { workers } from "./workers";
import { workflows } from "./workflows";

export const texts = {
  app,
  approvals,
  autonomy,
  chat,
  chats,
  checkpoints,
  composer,
  definitions,
  evidence,
  files,
  fork,
  git,
  jobs,
  limits,
  mcp,
  messages,
  models,
  notifications,
  people,
  plans,
  pushed,
  queue,
  roles,
  rules,
  schedules,
  server,
  settings,
  skills,
  start,
  state,
  terminal,
  ui,
  usage,
  workers,
  workflows,
};
