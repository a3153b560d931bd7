const KEY = /\bsk-[\w*.-]{4,}|\bBearer\s+[\w.~+/=*-]{6,}|\bAIza[\w-]{10,}/gi

/** Vendors echo parts of a key when they refuse it: blots out whatever looks like one. */
export function redactKeys(text: string): string {
  return text.replace(KEY, '[redacted]')
}
