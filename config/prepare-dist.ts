/**
 * Generates what would otherwise be computed at every start into `dist/`, as a step of `npm run build`: the
 * validators of all built-in schemas, and the shipped YAML files as JSON.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { collectSchemas, generateValidators, VALIDATORS_FOLDER } from '../core/util/compile-schema.ts'
import { shippedFile } from '../core/util/package-folder.ts'
import { convertedFile, readYaml } from './settings/read-yaml.ts'

// With validators of an earlier build, nothing would be compiled.
rmSync(VALIDATORS_FOLDER, { recursive: true, force: true })
collectSchemas()
const { declareSchemas } = await import('./gateway/declare-schemas.ts')
await declareSchemas()
mkdirSync(VALIDATORS_FOLDER, { recursive: true })
for (const [name, code] of await generateValidators()) writeFileSync(new URL(name, VALIDATORS_FOLDER), code)

const settingsFolder = shippedFile('dist/settings')
rmSync(settingsFolder, { recursive: true, force: true })
mkdirSync(settingsFolder, { recursive: true })
for (const file of ['config/default.yaml', 'config/models.yaml', 'config/provider-presets.yaml'].map(
  shippedFile,
)) {
  const issues: string[] = []
  const value = readYaml(file, issues)
  const json = JSON.stringify(value)
  if (issues.length > 0 || !isDeepStrictEqual(JSON.parse(json), value))
    throw new Error(`${file} cannot be converted to JSON: ${issues.join('; ')}`)
  writeFileSync(convertedFile(file), json)
}
