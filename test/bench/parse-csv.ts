/** Parses CSV with quoted cells (RFC 4180) into rows of cells. */
export function parseCsv(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [[]]
  for (const [, quoted, plain = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/g)) {
    rows.at(-1)?.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end !== ',' && end !== '') rows.push([])
  }
  return rows.filter((row) => row.length > 1)
}
