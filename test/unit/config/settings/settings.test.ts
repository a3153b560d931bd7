import { expect } from 'chai'
import { readSettings } from '../../../../config/settings/settings.ts'
import { SettingsError } from '../../../../config/settings/settings-error.ts'
import { writeSettings } from '../../../support/settings-file.ts'

describe('readSettings', () => {
  it('reports each invalid setting once, not each alternative that it does not match', async () => {
    const CONFIG = await writeSettings(`
plugins: [auth, 3, { use: trace, option: {} }]
providers: { Foo: { format: openai, base_url: https://foo.test } }
`)
    expect(() => readSettings({ CONFIG }))
      .to.throw(SettingsError)
      .with.property('issues')
      .that.deep.equals([
        'plugins[1] must be a string or an object',
        'plugins[2] has the unknown field "option"',
        'the field name "Foo" in providers must match the pattern ^[a-z][a-z0-9-]*$',
      ])
  })
})
