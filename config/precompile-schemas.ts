/**
 * Generates the validators that every start needs into `dist/`. The last step of `npm run build`. The schemas
 * are those that the modules of the gateway compile when they are loaded.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { generateValidators, VALIDATORS_FOLDER } from '../core/util/compile-schema.ts'

// With validators of an earlier build, nothing would be compiled.
rmSync(VALIDATORS_FOLDER, { recursive: true, force: true })
await import('./settings/settings.ts')
await import('./gateway/built-in-plugins.ts')
mkdirSync(VALIDATORS_FOLDER, { recursive: true })
for (const [name, code] of await generateValidators()) writeFileSync(new URL(name, VALIDATORS_FOLDER), code)
