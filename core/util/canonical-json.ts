import { hash } from 'node:crypto'

/** Returns a JSON value as text in the form of RFC 8785: names in order, no spaces. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join()}}`
}

/** Returns the SHA-256 of the canonical JSON in hex. */
export function digestOf(value: unknown): string {
  return sha256(canonicalJson(value))
}

/** In hex. */
export function sha256(text: string): string {
  return hash('sha256', text)
}
