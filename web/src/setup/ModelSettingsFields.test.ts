import { describe, expect, it } from "vitest";
import type { Provider } from "../wire/nouns";
import { usualCalling } from "./ModelSettingsFields";

const provider = (calling: Provider["calling"]) => ({ calling }) as Provider;

describe("how a model calls tools for which a person set nothing", () => {
  it("is as its server does, else as a trial showed, else tried", () => {
    expect(usualCalling(provider("text"), true)).toBe("in its text");
    expect(usualCalling(provider("schema"), null)).toBe("by a schema");
    expect(usualCalling(provider(null), true)).toBe("natively");
    expect(usualCalling(provider(null), false)).toBe("in its text");
    expect(usualCalling(provider(null), undefined)).toBe("natively, if a trial shows that it can");
  });
});
