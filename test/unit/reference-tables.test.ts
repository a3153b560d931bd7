import { expect } from 'chai'
import { COMMANDS } from '../../config/cli/commands.ts'
import { SettingsSchema } from '../../config/settings/schema.ts'
import { readGenerated } from '../support/generated-text.ts'
import { writeCommandTable, writeSettingsTable } from '../support/reference-tables.ts'

describe('the reference (npm run generate writes it)', () => {
  it('has every setting that is described', () => {
    const table = writeSettingsTable(SettingsSchema)
    expect(table.split('\n').length).to.be.above(60)
    expect(readGenerated('docs/settings.md', 'settings')).to.equal(table)
  })

  it('has every command with its options', () => {
    expect(readGenerated('docs/commands.md', 'commands')).to.equal(writeCommandTable(COMMANDS))
  })
})
