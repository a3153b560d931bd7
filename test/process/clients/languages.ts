import type { ClientLanguage } from './language.ts'
import { commandLine, javascript, tokenRouter } from './languages/javascript.ts'
import { python } from './languages/python.ts'

/** All languages, in the order of the table. */
export async function loadLanguages(): Promise<readonly ClientLanguage[]> {
  return await Promise.all([javascript(), tokenRouter(), commandLine(), python()])
}
