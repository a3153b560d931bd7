import { readFileSync } from 'node:fs'
import { ROOT } from './root.ts'

/** Reads the cases of `test/vectors/<name>.json`; its `about` says what they are. */
export function readVectors<Cases>(name: string): Cases {
  return JSON.parse(readFileSync(new URL(`test/vectors/${name}.json`, ROOT), 'utf8')).cases
}
