const API_KEY = /\btr_[0-9A-Za-z]{43}\b/g

/** Callers put keys where they do not belong, such as into a path, and messages say what was not found. */
export function redactApiKeys(text: string): string {
  return text.includes('tr_') ? text.replace(API_KEY, '[redacted]') : text
}
