import type { ClientLanguage } from './language.ts'
import { go } from './languages/go.ts'
import { java } from './languages/java.ts'
import { commandLine, javascript, tokenRouter } from './languages/javascript.ts'
import { python } from './languages/python.ts'
import { rust } from './languages/rust.ts'

/** All languages, in the order of the table. */
export async function loadLanguages(): Promise<readonly ClientLanguage[]> {
  return await Promise.all([javascript(), tokenRouter(), commandLine(), python(), go(), java(), rust()])
}
