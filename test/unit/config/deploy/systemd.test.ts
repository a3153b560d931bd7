import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { VARIABLE_NAMES } from '../../../../config/settings/environment.ts'
import { readSettings } from '../../../../config/settings/settings.ts'
import { makeFolder } from '../../../support/folders.ts'
import { ROOT } from '../../../support/root.ts'

const PROJECT = fileURLToPath(ROOT)
const UNIT = readFileSync(path.join(PROJECT, 'config/deploy/signalbox.service'), 'utf8')

describe('the systemd unit', () => {
  const settings = new Map<string, string[]>()
  for (const [, name = '', value = ''] of UNIT.matchAll(/^(\w+)=(.*)$/gm))
    settings.set(name, [...(settings.get(name) ?? []), value])
  const only = (name: string) => {
    expect(settings.get(name), name).to.have.length(1)
    return settings.get(name)?.[0] ?? ''
  }

  it('starts the command of the package', () => {
    const { bin } = JSON.parse(readFileSync(path.join(PROJECT, 'package.json'), 'utf8'))

    expect(only('ExecStart')).to.equal(`/usr/bin/node ${only('WorkingDirectory')}/${bin.signalbox} start`)
  })

  it('sets only known variables and stores data in a writable directory', () => {
    const variables = new Map(
      only('Environment')
        .split(' ')
        .map((pair) => pair.split('=') as [string, string]),
    )

    expect([...VARIABLE_NAMES, 'NODE_ENV', 'MALLOC_ARENA_MAX']).to.include.members([...variables.keys()])
    expect(variables.get('DATA_DIR')).to.equal(`/var/lib/${only('StateDirectory')}`)
    expect(only('EnvironmentFile')).to.match(/^\/etc\//)
  })

  it('gives requests in flight time to finish and always restarts', () => {
    const { drain_ms } = readSettings({}).timeouts

    // Workers may take 10 s to close once their connections have ended.
    expect(Number(only('TimeoutStopSec')) * 1000).to.be.above(drain_ms + 10_000)
    expect(only('KillMode')).to.equal('mixed')
    expect(only('Restart')).to.equal('always')
    expect(only('ExecReload')).to.equal('/bin/kill -HUP $MAINPID')
  })

  it('runs as its own user without write access elsewhere and without privileges', () => {
    expect(only('User')).to.equal('signalbox')
    expect(only('ProtectSystem')).to.equal('strict')
    expect(only('CapabilityBoundingSet')).to.equal('')
    for (const name of ['NoNewPrivileges', 'ProtectHome', 'PrivateTmp', 'RestrictNamespaces'])
      expect(only(name), name).to.equal('yes')
  })

  describe('checked by systemd-analyze (skipped if it is not installed)', () => {
    before(function () {
      if (spawnSync('systemd-analyze', ['--version']).error) this.skip()
    })

    it('is a valid unit', async () => {
      const file = path.join(await makeFolder(), 'signalbox.service')
      // Node may be installed at another path on this machine.
      await writeFile(file, UNIT.replace('/usr/bin/node', process.execPath))

      const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
        encoding: 'utf8',
      })
      expect(stderr).to.equal('')
      expect(status).to.equal(0)
    })
  })
})
