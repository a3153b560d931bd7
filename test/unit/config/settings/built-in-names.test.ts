import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { parse } from 'yaml'
import { BUILT_IN_NAMES } from '../../../../config/settings/built-in-names.ts'
import { makeFolder, runSignalbox } from '../../../support/gateway.ts'
import { ROOT } from '../../../support/root.ts'
import { withSettings } from '../../../support/settings.ts'

describe('the names of built-in plugins', () => {
  it('match the plugins of the gateway', async () => {
    const settings = await withSettings('plugins: [nobody]')
    const environment = { ...settings, PORT: '0', ROUTE_PORT: '0', DATA_DIR: await makeFolder() }
    const { stderr } = await runSignalbox(['start'], environment)

    const names = /is not a built-in \(([^)]*)\)/.exec(stderr)?.[1]?.split(', ')
    expect(names).to.have.members([...BUILT_IN_NAMES])
  })

  it('match the list in default.yaml', () => {
    const shipped = parse(readFileSync(new URL('config/default.yaml', ROOT), 'utf8'))
    expect(shipped.plugins).to.have.members([...BUILT_IN_NAMES])
  })
})
