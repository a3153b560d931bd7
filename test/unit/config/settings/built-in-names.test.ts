import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { BUILT_IN_NAMES, DEFAULT_PLUGIN_NAMES } from '../../../../config/settings/built-in-names.ts'
import { startGateway } from '../../../support/gateway.ts'
import { ROOT } from '../../../support/root.ts'
import { withSettings } from '../../../support/settings.ts'
import { parseYaml } from '../../../support/yaml.ts'

describe('the names of built-in plugins', () => {
  it('are those that the gateway has', async () => {
    const { message } = await startGateway(await withSettings('plugins: [nobody]')).then(
      () => expect.fail('the gateway started'),
      (error) => error,
    )

    const names = /is not a built-in \(([^)]*)\)/.exec(message)?.[1]?.split(', ')
    expect(names).to.have.members([...BUILT_IN_NAMES])
  })

  it('match the list in default.yaml', () => {
    const shipped = parseYaml(readFileSync(new URL('config/default.yaml', ROOT), 'utf8'))
    expect(shipped.plugins).to.have.members([...DEFAULT_PLUGIN_NAMES])
  })
})
