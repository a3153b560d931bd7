/** Texts that clients and gateways put into a conversation beside what the user and the model say. */
const ADDED_TEXTS = [
  /^<system-reminder>.*<\/system-reminder>$/s,
  /^From tool result \d+:$/,
  /^I have read the result\.$/,
]

/** Whether a text is what the user or the model says: the sandbox does not answer others. */
export function isSaid(text: string): boolean {
  return !ADDED_TEXTS.some((pattern) => pattern.test(text))
}
