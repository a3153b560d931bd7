import type { ClientLanguage, Versions } from './language.ts'
import { go } from './languages/go.ts'
import { java } from './languages/java.ts'
import { commandLine, javascript, javascriptForNode20, tokenRouter } from './languages/javascript.ts'
import { python } from './languages/python.ts'
import { rust } from './languages/rust.ts'

/** All languages, in the order of the table. */
export async function loadLanguages(versions: Versions = 'pinned'): Promise<readonly ClientLanguage[]> {
  const languages = [javascript, javascriptForNode20, tokenRouter, commandLine, python, go, java, rust]
  return await Promise.all(languages.map((load) => load(versions)))
}
