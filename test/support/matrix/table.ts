import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { ROOT } from '../root.ts'

/** What a test run found: for each case, the cell of each provider. */
export type Table = ReadonlyMap<string, ReadonlyMap<string, string>>

const PAGE = fileURLToPath(new URL('docs/providers.md', ROOT))
const START = '<!-- matrix -->\n'
const END = '<!-- /matrix -->'

/** The table in Markdown. */
export function writeTable(table: Table): string {
  const [first] = table.values()
  const providers = [...(first?.keys() ?? [])]
  const rows = [...table].map(([name, cells]) => [
    name,
    ...providers.map((provider) => cells.get(provider) ?? '–'),
  ])
  return [['ability', ...providers], ['---', ...providers.map(() => ':-:')], ...rows]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('')
}

/** The table that docs/providers.md shows, as `writeTable` writes it, however it is aligned there. */
export async function readShownTable(): Promise<string> {
  const page = await readFile(PAGE, 'utf8')
  const shown = page.split(START)[1]?.split(END)[0] ?? ''
  return shown.trimStart().replaceAll(/ +/g, ' ').replaceAll(/:-+:/g, ':-:').replaceAll(/-{3,}/g, '---')
}

/** Puts the table into docs/providers.md. */
export async function showTable(text: string): Promise<void> {
  const page = await readFile(PAGE, 'utf8')
  const [before, rest = END] = page.split(START)
  await writeFile(PAGE, `${before}${START}${text}${END}${rest.split(END)[1]}`)
}
