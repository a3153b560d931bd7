import { readFileSync, writeFileSync } from 'node:fs'
import { ROOT } from './root.ts'

const startOf = (name: string) => `<!-- ${name} -->\n`
const endOf = (name: string) => `<!-- /${name} -->`

/** The text between the comments `<!-- name -->` and `<!-- /name -->` of a page. */
export function readGenerated(page: string, name: string): string {
  const text = readFileSync(new URL(page, ROOT), 'utf8')
  return text.split(startOf(name))[1]?.split(endOf(name))[0] ?? ''
}

/** Replaces this text. */
export function writeGenerated(page: string, name: string, generated: string): void {
  const url = new URL(page, ROOT)
  const [before, rest = endOf(name)] = readFileSync(url, 'utf8').split(startOf(name))
  writeFileSync(url, `${before}${startOf(name)}${generated}${endOf(name)}${rest.split(endOf(name))[1]}`)
}
