import { expect } from 'chai'
import { dump } from 'js-yaml'
import { readSettings } from '../../../../config/settings/settings.ts'
import { SettingsError } from '../../../../config/settings/settings-error.ts'
import { ALERTS } from '../../../support/documented-gateway.ts'
import { writeSettings } from '../../../support/settings-file.ts'

// Without alerts, their plugin is left out.
const SHIPPED = readSettings({ CONFIG: await writeSettings(ALERTS) }).plugins

const names = (plugins: typeof SHIPPED) => plugins.map(({ use }) => use)

async function resolve(plugins: object) {
  return readSettings({ CONFIG: await writeSettings(ALERTS + dump({ plugins })) }).plugins
}

async function issuesOf(plugins: object): Promise<readonly string[]> {
  const failure: unknown = await resolve(plugins).then(
    () => expect.fail('the settings are valid'),
    (error) => error,
  )
  expect(failure).to.be.instanceOf(SettingsError)
  return (failure as SettingsError).issues
}

describe('changes to the shipped plugin list', () => {
  it('add plugins before or after others, or at the end', async () => {
    const plugins = await resolve({
      add: [
        { use: './a.js', before: 'firewall', options: { level: 2 } },
        { use: 'b', after: './a.js' },
        'c',
        { use: '@scope/d' },
      ],
    })
    const expected = [...SHIPPED]
    const firewall = names(SHIPPED).indexOf('firewall')
    expected.splice(firewall, 0, { use: './a.js', options: { level: 2 } }, { use: 'b', options: {} })
    expect(plugins).to.deep.equal([...expected, { use: 'c', options: {} }, { use: '@scope/d', options: {} }])
  })

  it('remove plugins', async () => {
    const rest = SHIPPED.filter(({ use }) => use !== 'audit' && use !== 'openapi')
    expect(await resolve({ remove: ['audit', 'openapi'] })).to.deep.equal(rest)
  })

  it('move a built-in plugin, or give it options', async () => {
    const firewall = { use: 'firewall', options: { hold_back_chars: 10 } }
    const plugins = await resolve({ remove: ['firewall'], add: [{ ...firewall, after: 'auth' }] })
    const rest = SHIPPED.filter(({ use }) => use !== 'firewall')
    expect(plugins).to.deep.equal([rest[0], firewall, ...rest.slice(1)])
  })

  it('are all reported if they cannot be made', async () => {
    const list = names(SHIPPED)
    const rest = list.filter((name) => name !== 'audit')
    expect(
      await issuesOf({
        remove: ['audit', 'audit', 'audti'],
        add: [
          'x',
          { use: 'x', before: 'auth' },
          'firewall',
          { use: 'y', before: 'firewal' },
          { use: 'z', after: 'audit' },
          { use: 'w', before: 'auth', after: 'plan' },
        ],
      }),
    ).to.deep.equal([
      `plugins.remove[1] is "audit", which is not in the list; use one of ${rest.join(', ')}`,
      `plugins.remove[2] is "audti", which is not in the list; use one of ${rest.join(', ')}`,
      'plugins.add[1] adds "x", which is already in the list; remove one of the two',
      'plugins.add[2] adds "firewall", which is already in the list; remove one of the two',
      `plugins.add[3].before is "firewal", which is not in the list; use one of ${[...rest, 'x'].join(', ')}`,
      `plugins.add[4].after is "audit", which is not in the list; use one of ${[...rest, 'x'].join(', ')}`,
      'plugins.add[5] has both before and after; keep one of them',
    ])
  })

  it('have no unknown fields', async () => {
    expect(await issuesOf({ added: ['x'] })).to.deep.equal(['plugins has the unknown field "added"'])
    expect(await issuesOf({ add: [{ use: 'x', befor: 'auth' }] })).to.deep.equal([
      'plugins.add[0] has the unknown field "befor" (did you mean "before"?)',
    ])
    expect(await issuesOf({})).to.deep.equal(['plugins must not be empty'])
  })
})
