import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { SettingsSchema } from '../../../../config/settings/schema.ts'
import { ROOT } from '../../../support/root.ts'

describe('config/schema.json', () => {
  it('is up to date (run "npm run generate" after a change of the settings schema)', () => {
    const written = JSON.parse(readFileSync(new URL('config/schema.json', ROOT), 'utf8'))

    expect(JSON.stringify(written)).to.equal(JSON.stringify(SettingsSchema))
  })
})
