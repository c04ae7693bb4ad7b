import { describe, expect, it } from "vitest";
import { cronWords } from "./cronWords";

describe("a cron expression in words", () => {
  it.each([
    ["0 9 * * MON-FRI", "At 09:00, Monday to Friday"],
    ["0 9 * * 1-5", "At 09:00, Monday to Friday"],
    ["30 7 * * *", "At 07:30, every day"],
    ["0 9,17 * * mon,wed,FRI", "At 09:00 and 17:00, Monday, Wednesday, and Friday"],
    ["0 0 * * 0", "At 00:00, Sunday"],
    ["0 0 * * 7", "At 00:00, Sunday"],
    ["0 0 * * TUE-THU,SAT", "At 00:00, Tuesday to Thursday and Saturday"],
    ["15 6 1 * *", "At 06:15, on day 1 of the month"],
    ["15 6 1,15 JAN,JUL *", "At 06:15, on day 1 and day 15 of the month, January and July"],
    ["0 0 1 1-3 *", "At 00:00, on day 1 of the month, January to March"],
    ["* * * * *", "Every minute"],
    ["*/15 * * * *", "Every 15 minutes"],
    ["*/5 * * * SAT", "Every 5 minutes, Saturday"],
    ["0 * * * *", "Every hour"],
    ["5 * * * *", "At minute 5 of every hour"],
    ["0 */6 * * *", "Every 6 hours"],
    ["30 9-17 * * MON-FRI", "Every hour from 09:30 to 17:30, Monday to Friday"],
  ])("%s: %s", (cron, words) => expect(cronWords(cron)).toBe(words));

  it.each([
    ["*/7 * * * *"], // the last step of an hour is shorter
    ["5 */6 * * *"],
    ["0 9 13 * FRI"], // one of both
    ["0 9 L * *"],
    ["0 9 * * FRI#2"],
    ["0 9 * * FRI-MON"],
    ["0 9-17/2 * * *"],
    ["0,30 9 * * *"],
    ["0 24 * * *"],
    ["60 * * * *"],
    ["0 9 0 * *"],
    ["0 9 * 13 *"],
    ["0 9 * *"],
    ["0 9 * * * *"],
    [""],
    ["9"],
  ])("%s stays as it is written", (cron) => expect(cronWords(cron)).toBeNull());
});
