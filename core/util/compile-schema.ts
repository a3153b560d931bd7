import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Ajv, type Options, type ValidateFunction } from 'ajv'
import type { JsonObject } from '../contract/index.ts'

/** `verbose` adds the failed schema to errors, for their wording. */
export const AJV_OPTIONS: Options = { allowUnionTypes: true, verbose: true }

/** Built-in schemas are known to be valid, and checking them would take as long as compiling them. */
const MODES = {
  'first-error': {
    ...AJV_OPTIONS,
    validateSchema: false,
    inlineRefs: false,
    // Documentation only: the types and ranges of these values are checked.
    formats: { int32: true, int64: true, double: true, 'date-time': true, uri: true },
  },
  'all-errors': { ...AJV_OPTIONS, validateSchema: false, allErrors: true },
} satisfies Record<string, Options>

type Mode = keyof typeof MODES

/** Compiles in this process. From source there is nothing else, and optimizing the code takes longest. */
const ajvOf: Readonly<Record<Mode, Ajv>> = {
  'first-error': new Ajv(MODES['first-error']),
  'all-errors': new Ajv({ ...MODES['all-errors'], code: { optimize: false } }),
}

/** The validators that `npm run build` generated. The folder does not exist when running from source. */
export const VALIDATORS_FOLDER = new URL('./validators/', import.meta.url)
const load = createRequire(import.meta.url)

/** What this process compiled itself, by file name: the input of `npm run build`. */
const compiled = new Map<string, { readonly mode: Mode; readonly schema: JsonObject }>()

/**
 * Returns the validator of a built-in schema. The build compiles those that every start needs, which takes a
 * fifth of the processor time of a start; others are compiled here.
 */
export function compileSchema<T>(schema: JsonObject, mode: Mode): ValidateFunction<T> {
  const name = fingerprint(schema, mode)
  const file = fileURLToPath(new URL(name, VALIDATORS_FOLDER))
  if (existsSync(file)) return load(file)
  compiled.set(name, { mode, schema })
  return ajvOf[mode].compile<T>(schema)
}

function fingerprint(schema: JsonObject, mode: Mode): string {
  return `${createHash('sha256').update(mode).update(JSON.stringify(schema)).digest('hex').slice(0, 32)}.cjs`
}

/** Returns CommonJS code for all validators that this process has compiled so far, by file name. */
export async function generateValidators(): Promise<ReadonlyMap<string, string>> {
  const { default: standalone } = await import('ajv/dist/standalone/index.js')
  const files = new Map<string, string>()
  for (const [name, { mode, schema }] of compiled) {
    const ajv = new Ajv({ ...MODES[mode], code: { source: true } })
    files.set(name, standalone.default(ajv, ajv.compile(schema)))
  }
  return files
}
