import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { readSettings } from '../../../../config/settings/settings.ts'
import { ROOT } from '../../../support/root.ts'
import { parseYaml } from '../../../support/yaml.ts'

const CHART = new URL('config/deploy/helm/signalbox/', ROOT)
const read = (name: string) => readFileSync(new URL(name, CHART), 'utf8')

// test/release/helm.test.ts renders the chart.
describe('the files of the Helm chart', () => {
  const values = parseYaml(read('values.yaml'))
  const schema = JSON.parse(read('values.schema.json'))

  it('have the version of the package', () => {
    const { version } = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'))
    expect(parseYaml(read('Chart.yaml'))).to.include({ version, appVersion: version })
  })

  it('have the same values in the defaults and in their schema, which allows no others', () => {
    const { global: _, ...properties } = schema.properties
    expect(Object.keys(properties)).to.have.members(Object.keys(values))
    for (const [name, { type, properties: fields, additionalProperties }] of Object.entries<typeof schema>(
      properties,
    )) {
      if (type !== 'object' || fields === undefined) continue
      expect(additionalProperties, name).to.equal(false)
      expect(Object.keys(fields), name).to.have.members(Object.keys(values[name]))
    }
  })

  it('wait for as long as requests may take by default', () => {
    expect(read('templates/_pod.tpl')).to.contain(`"drain_ms" ${readSettings({}).timeouts.drain_ms} `)
  })
})
