import { readGenerated, writeGenerated } from '../generated-text.ts'

/** What a test run found: for each case, the cell of each provider. */
export type Table = ReadonlyMap<string, ReadonlyMap<string, string>>

/** The table in Markdown. Cases with the same cells share a row. */
export function writeTable(table: Table): string {
  const [first] = table.values()
  const providers = [...(first?.keys() ?? [])]
  const rows = new Map<string, string[]>()
  for (const [name, cells] of table) {
    const row = providers.map((provider) => cells.get(provider) ?? '–').join(' | ')
    rows.set(row, [...(rows.get(row) ?? []), name])
  }
  const body = [...rows].map(([row, names]) => [names.join(', '), row])
  return [['ability', ...providers], ['---', ...providers.map(() => ':-:')], ...body]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('')
}

/** The table that docs/providers.md shows, as `writeTable` writes it, however it is aligned there. */
export function readShownTable(): string {
  const shown = readGenerated('docs/providers.md', 'matrix')
  return shown.replaceAll(/ +/g, ' ').replaceAll(/:-+:/g, ':-:').replaceAll(/-{3,}/g, '---')
}

/** Puts the table into docs/providers.md. */
export function showTable(text: string): void {
  writeGenerated('docs/providers.md', 'matrix', text)
}
