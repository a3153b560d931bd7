/**
 * Generates the validators that every start needs into `dist/`. The last step of `npm run build`. The schemas
 * are those that the modules of the gateway compile when they are loaded.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { generateValidators } from '../core/util/compile-schema.ts'

// Not at the top: with validators of an earlier build, nothing would be compiled.
const { folder } = await generateValidators()
rmSync(folder, { recursive: true, force: true })
await import('./settings/settings.ts')
await import('./gateway/built-in-plugins.ts')
const { files } = await generateValidators()
mkdirSync(folder, { recursive: true })
for (const [name, code] of files) writeFileSync(new URL(name, folder), code)
