/** Formats values as a line of CSV (RFC 4180). */
export function toCsvLine(values: readonly unknown[]): string {
  return `${values.map(toCsvField).join(',')}\r\n`
}

function toCsvField(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'string') return String(value)
  // A spreadsheet would run text that begins like a formula; callers choose some of the texts.
  const text = /^[=+\-@\t\r\n＝＋－＠]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
