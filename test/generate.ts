/** Writes the files that are generated from the source: `npm run generate`. */
import { writeFileSync } from 'node:fs'
import { SettingsSchema } from '../config/settings/schema.ts'
import { ROOT } from './support/root.ts'

writeFileSync(new URL('config/schema.json', ROOT), JSON.stringify(SettingsSchema))
