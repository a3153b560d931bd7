import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { parse } from 'yaml'
import { VARIABLE_NAMES } from '../../config/environment.ts'
import { readSettings } from '../../config/settings.ts'

const FOLDER = fileURLToPath(new URL('../../config/deploy/', import.meta.url))
const ROOT = path.join(FOLDER, '../..')

const read = (name: string) => readFileSync(path.join(FOLDER, name), 'utf8')

// No container engine runs where the tests do: what the files say is checked against the program and against each other.
describe('the files for deployment:', () => {
  const compose = parse(read('compose.yaml'))
  const { gateway, prometheus } = compose.services

  it('compose.yaml sets only what the gateway knows, and it is valid', () => {
    const { providers } = readSettings({})
    const keys = Object.keys(providers).map((id) => `${id.toUpperCase()}_API_KEY`)

    expect([...VARIABLE_NAMES, ...keys]).to.include.members(Object.keys(gateway.environment))
    const settings = readSettings(withoutPlaceholders(gateway.environment))
    expect(settings).to.include({ host: '0.0.0.0', eventstore_url: 'esdb://eventlog:2113?tls=false' })
  })

  it('compose.yaml names services, volumes and files that are there', () => {
    expect(new URL(gateway.environment.EVENTSTORE_URL).hostname).to.equal('eventlog')
    expect(compose.services).to.include.keys('eventlog')
    expect(existsSync(path.join(FOLDER, gateway.build.context, gateway.build.dockerfile))).to.equal(true)
    for (const { volumes } of Object.values<{ volumes: string[] }>(compose.services)) {
      for (const [source = ''] of volumes.map((volume) => volume.split(':'))) {
        if (source.startsWith('.')) expect(existsSync(path.join(FOLDER, source)), source).to.equal(true)
        else expect(compose.volumes).to.have.property(source)
      }
    }
  })

  it('prometheus.yml asks the gateway for its metrics, and finds its rules', () => {
    const { scrape_configs, rule_files } = parse(read('prometheus.yml'))
    const mounted = prometheus.volumes.map((volume: string) => path.basename(volume.split(':')[1] ?? ''))

    expect(scrape_configs[0].static_configs[0].targets).to.deep.equal([
      `gateway:${gateway.environment.METRICS_PORT}`,
    ])
    expect(mounted).to.include.members(rule_files)
  })

  it('the Dockerfile copies and starts what the build makes', () => {
    const lines = read('Dockerfile').split('\n')
    const { bin, scripts } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'))

    expect(lines).to.include(`CMD ["node", "${bin.signalbox}", "start"]`)
    expect(lines).to.include('COPY --from=build /signalbox/dist dist')
    expect(scripts.prepare).to.equal('npm run build')
  })
})

/** As compose would fill them in: `${NAME:-default}`, and `${NAME:?reason}` with something. */
function withoutPlaceholders(environment: Record<string, string>): Record<string, string> {
  const filled = Object.entries(environment).map(([name, value]) => [
    name,
    value.replace(/\$\{\w+:-([^}]*)\}/, '$1').replace(/\$\{\w+:\?[^}]*\}/, 'x'.repeat(16)),
  ])
  return Object.fromEntries(filled)
}
