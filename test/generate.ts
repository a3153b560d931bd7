/** Writes the files that are generated from the source: `npm run generate`. */
import { writeFileSync } from 'node:fs'
import { COMMANDS } from '../config/cli/commands.ts'
import { ModelRowSchema } from '../config/settings/model-schema.ts'
import { ProviderRow } from '../config/settings/provider-schema.ts'
import { SettingsSchema } from '../config/settings/schema.ts'
import { buildCasesEditorSchema, buildEditorSchema } from '../plugins/rules-file/editor-schema.ts'
import { CONSOLE_TYPES, writeConsoleTypes } from './support/console-types.ts'
import { startDocumentedGateway } from './support/documented-gateway.ts'
import { writeGenerated } from './support/generated-text.ts'
import { writeLimitsTable } from './support/limits-table.ts'
import { writeEffortTable, writeParameterMatrix } from './support/parameter-matrix.ts'
import {
  writeCommandTable,
  writeContractTables,
  writeErrorTable,
  writeExemptions,
  writePresetTable,
  writeRowTable,
  writeSettingsTable,
} from './support/reference-tables.ts'
import { writeRoleMatrix } from './support/role-matrix.ts'
import { ROOT } from './support/root.ts'

const write = (file: string, schema: object) => writeFileSync(new URL(file, ROOT), JSON.stringify(schema))

write('config/schema.json', SettingsSchema)
write('config/rules-file.schema.json', buildEditorSchema())
write('config/rules-cases.schema.json', buildCasesEditorSchema())
writeGenerated('docs/providers.md', 'limits', writeLimitsTable())
writeGenerated('docs/providers.md', 'provider', writeRowTable(ProviderRow))
writeGenerated('docs/providers.md', 'model', writeRowTable(ModelRowSchema))
writeGenerated('docs/parameters.md', 'parameters', writeParameterMatrix())
writeGenerated('docs/parameters.md', 'efforts', writeEffortTable())
writeGenerated('docs/settings.md', 'settings', writeSettingsTable(SettingsSchema))
writeGenerated('docs/exchange.md', 'exchange', writeContractTables())
writeGenerated('docs/firewall-exemptions.md', 'exemptions', writeExemptions())
writeGenerated('docs/guides/presets.md', 'presets', writePresetTable())
writeGenerated('docs/commands.md', 'commands', writeCommandTable(COMMANDS))
writeGenerated('docs/api.md', 'errors', await writeErrorTable())

const gateway = await startDocumentedGateway()
const { body } = await gateway.call('GET', '/openapi.json')
writeFileSync(new URL(CONSOLE_TYPES, ROOT), writeConsoleTypes(body))
writeGenerated('docs/guides/operators.md', 'roles', writeRoleMatrix(body))
await gateway.stop()
