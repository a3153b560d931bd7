import { execFileSync, spawnSync } from 'node:child_process'
import { cp, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { makeFolder } from '../../../support/folders.ts'
import { ROOT } from '../../../support/root.ts'
import { parseYaml } from '../../../support/yaml.ts'

const PROJECT = fileURLToPath(ROOT)
const DEPLOY = path.join(PROJECT, 'config/deploy')

interface Alert {
  readonly alert: string
  readonly annotations: Readonly<Record<string, string>>
}

describe('the alert rules', () => {
  let alerts: readonly Alert[]

  before(async () => {
    const { groups } = parseYaml(await readFile(path.join(DEPLOY, 'alerts.yml'), 'utf8'))
    alerts = groups.flatMap(({ rules }: { rules: readonly Alert[] }) => rules)
    expect(alerts.length).to.be.above(15)
  })

  it('each have a section in docs/alerts.md, which is their runbook', async () => {
    const text = await readFile(path.join(PROJECT, 'docs/alerts.md'), 'utf8')
    const sections = [...text.matchAll(/^## (Signalbox\w+)\n\n(\S.*)/gm)].map(([, name]) => name)

    expect(sections).to.have.members(alerts.map(({ alert }) => alert))
    for (const { alert, annotations } of alerts)
      expect(annotations.runbook, alert).to.equal(`docs/alerts.md#${alert.toLowerCase()}`)
  })

  describe('checked by promtool (skipped if it is not installed)', () => {
    before(function () {
      if (spawnSync('promtool', ['--version']).error) this.skip()
    })

    const promtool = (...args: string[]) =>
      execFileSync('promtool', args, { encoding: 'utf8', stdio: 'pipe' })

    it('are valid, and so is the configuration that loads them', () => {
      expect(promtool('check', 'rules', path.join(DEPLOY, 'alerts.yml'))).to.contain('SUCCESS')
      expect(promtool('check', 'config', path.join(DEPLOY, 'prometheus.yml'))).to.contain('SUCCESS')
    })

    it('fire on the problem that they describe and not otherwise', async () => {
      const folder = await makeFolder()
      await cp(path.join(DEPLOY, 'alerts.yml'), path.join(folder, 'alerts.yml'))
      const text = await readFile(path.join(PROJECT, 'test/fixtures/alerts.yml'), 'utf8')
      const firing = alerts.map(({ alert }) => ({ labels: `{alertname="${alert}"}`, value: 1 }))
      await writeFile(path.join(folder, 'test.yml'), text.replace('FIRING', JSON.stringify(firing)))

      expect(promtool('test', 'rules', path.join(folder, 'test.yml'))).to.contain('SUCCESS')
    })
  })
})
