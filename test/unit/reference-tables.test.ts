import { expect } from 'chai'
import { COMMANDS } from '../../config/cli/commands.ts'
import { ModelRowSchema } from '../../config/settings/model-schema.ts'
import { ProviderRow } from '../../config/settings/provider-schema.ts'
import { SettingsSchema } from '../../config/settings/schema.ts'
import { readGenerated } from '../support/generated-text.ts'
import {
  writeCommandTable,
  writeContractTables,
  writePresetTable,
  writeRowTable,
  writeSettingsTable,
} from '../support/reference-tables.ts'

describe('the reference (npm run generate writes it)', () => {
  it('has every setting that is described', () => {
    const table = writeSettingsTable(SettingsSchema)
    expect(table.split('\n').length).to.be.above(60)
    expect(readGenerated('docs/settings.md', 'settings')).to.equal(table)
  })

  it('has every field of the rows of providers and models', () => {
    expect(readGenerated('docs/guides/presets.md', 'presets')).to.equal(writePresetTable())
    expect(readGenerated('docs/providers.md', 'provider')).to.equal(writeRowTable(ProviderRow))
    expect(readGenerated('docs/providers.md', 'model')).to.equal(writeRowTable(ModelRowSchema))
  })

  it('has every command with its options', () => {
    expect(readGenerated('docs/commands.md', 'commands')).to.equal(writeCommandTable(COMMANDS))
  })

  it('has every field of the exchange and of the ended request', () => {
    const tables = writeContractTables()
    expect(tables.match(/^\| `/gm)?.length).to.be.above(90)
    expect(readGenerated('docs/exchange.md', 'exchange')).to.equal(tables)
  })
})
