import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { VARIABLE_NAMES } from '../../../../config/settings/environment.ts'
import { readSettings } from '../../../../config/settings/settings.ts'
import { startGateway } from '../../../support/gateway.ts'
import { ROOT } from '../../../support/root.ts'
import { parseYaml } from '../../../support/yaml.ts'

const FOLDER = fileURLToPath(new URL('config/deploy/', ROOT))

const read = (name: string) => readFileSync(path.join(FOLDER, name), 'utf8')
const readYaml = (name: string) => parseYaml(read(name))

const { bin, allowScripts, files, publishConfig, repository, scripts } = JSON.parse(
  readFileSync(new URL('package.json', ROOT), 'utf8'),
)

/** All variables that the gateway reads. */
function knownVariables(): readonly string[] {
  const keys = Object.keys(readSettings({}).providers).map((id) => `${id.toUpperCase()}_API_KEY`)
  return [...VARIABLE_NAMES, ...keys, 'CONFIG', 'NODE_ENV', 'MALLOC_ARENA_MAX']
}

interface Service {
  readonly image?: string
  readonly profiles?: readonly string[]
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly restart: string
  readonly security_opt: readonly string[]
}

// The tests run without a container engine: they compare the files with the program and with each other.
describe('the deployment files', () => {
  const compose = readYaml('compose.yaml')
  const services: readonly (readonly [string, Service])[] = Object.entries(compose.services)
  const { gateway, prometheus, grafana } = compose.services
  const { drain_ms } = readSettings({}).timeouts

  it('are valid YAML', () => {
    const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter(
      (name) => /\.ya?ml$/.test(name) && !name.includes('/templates/'),
    )
    expect(files.length).to.be.above(4)
    for (const file of files) expect(readYaml(file), file).to.be.an('object')
  })

  describe('compose.yaml', () => {
    it('sets only known variables, to valid values', () => {
      expect(knownVariables()).to.include.members(Object.keys(gateway.environment))
      const settings = readSettings(withoutPlaceholders(gateway.environment))
      expect(settings).to.include({ host: '0.0.0.0' })
      for (const url of ['eventstore_url', 'ledger_url', 'redis_url'] as const)
        expect(settings[url], url).to.be.oneOf([null, undefined])
    })

    it('starts one gateway by itself, and each server with its profile', () => {
      const profiles = services.map(([name, { profiles = [] }]) => [name, ...profiles])
      expect(profiles).to.deep.equal([
        ['gateway'],
        ['eventlog', 'eventstore'],
        ['ledger', 'postgres'],
        ['redis', 'redis'],
        ['prometheus', 'monitoring'],
        ['grafana', 'monitoring'],
      ])
    })

    it('says which variables use the servers', () => {
      const shown = Object.fromEntries(
        [...read('compose.yaml').matchAll(/(\w+_URL)='?([\w:/@?=.-]+)/g)].map(([, name, url]) => [name, url]),
      )
      const { eventstore_url, ledger_url, redis_url } = readSettings(shown)
      for (const url of [eventstore_url, ledger_url, redis_url])
        expect(compose.services).to.include.keys(new URL(url ?? '').hostname)
      const { username, password, pathname } = new URL(ledger_url ?? '')
      const { POSTGRES_USER, POSTGRES_DB } = compose.services.ledger.environment
      expect([username, pathname]).to.deep.equal([POSTGRES_USER, `/${POSTGRES_DB}`])
      expect(read('compose.yaml')).to.contain(`POSTGRES_PASSWORD=${password}`)
    })

    it('refers only to services, volumes and files that exist', () => {
      expect(existsSync(path.join(FOLDER, gateway.build.context, gateway.build.dockerfile))).to.equal(true)
      for (const [, { volumes = [] }] of services) {
        for (const [source = ''] of volumes.map((volume) => volume.split(':'))) {
          if (source.startsWith('.')) expect(existsSync(path.join(FOLDER, source)), source).to.equal(true)
          else expect(compose.volumes).to.have.property(source)
        }
      }
    })

    it('pins every image to a version', () => {
      for (const [name, { image }] of services)
        if (name !== 'gateway') expect(image).to.match(/^[\w/-]+:v?\d+\.\d+[\w.-]*$/)
    })

    it('runs all services without additional privileges and publishes ports only on localhost', () => {
      for (const [name, { restart, security_opt, ports = [] }] of services) {
        expect(restart, name).to.equal('unless-stopped')
        expect(security_opt, name).to.deep.equal(['no-new-privileges:true'])
        for (const port of ports) expect(port, name).to.match(/^127\.0\.0\.1:/)
      }
    })

    it('gives requests in flight time to finish', () => {
      // Workers may take 10 s to close once their connections have ended.
      expect(parseFloat(gateway.stop_grace_period) * 1000).to.be.above(drain_ms + 10_000)
    })
  })

  it('prometheus.yml scrapes the gateway and loads the mounted rules', () => {
    const { scrape_configs, rule_files } = readYaml('prometheus.yml')
    const mounted = prometheus.volumes.map((volume: string) => path.basename(volume.split(':')[1] ?? ''))

    expect(scrape_configs[0].static_configs[0].targets).to.deep.equal([
      `gateway:${gateway.environment.METRICS_PORT}`,
    ])
    expect(mounted).to.include.members(rule_files)
  })

  it('Grafana loads the data source and the dashboard', () => {
    const mounts = new Map<string, string>(
      grafana.volumes.map((volume: string) => volume.split(':').slice(0, 2) as [string, string]),
    )
    expect(mounts.get('./grafana/provisioning')).to.equal('/etc/grafana/provisioning')
    const [source] = readYaml('grafana/provisioning/datasources/prometheus.yml').datasources
    const { hostname, port } = new URL(source.url)
    expect(compose.services).to.have.property(hostname)
    expect(prometheus.ports).to.deep.equal([`127.0.0.1:${port}:${port}`])
    expect(source).to.include({ type: 'prometheus', isDefault: true })

    const [provider] = readYaml('grafana/provisioning/dashboards/signalbox.yml').providers
    const dashboard = mounts.get('./grafana/dashboard.json') ?? ''
    expect(path.posix.dirname(dashboard)).to.equal(provider.options.path)
    expect(dashboard).to.match(/\.json$/)
    const { uid, templating } = JSON.parse(read('grafana/dashboard.json'))
    expect(uid).to.equal('signalbox')
    expect(templating.list[0]).to.include({ type: 'datasource', query: source.type })
  })

  it('the package can be published with its provenance', () => {
    expect(publishConfig).to.deep.equal({ access: 'public', provenance: true })
    expect(repository.url).to.match(/^git\+https:\/\/[\w.-]+\/[\w-]+\/signalbox\.git$/)
  })

  describe('the Dockerfile', () => {
    const lines = read('Dockerfile').replaceAll('\\\n', '').split('\n')

    it('copies and starts the build output', () => {
      expect(lines).to.include(`CMD ["node", "${bin.signalbox}", "start"]`)
      expect(lines).to.include('COPY --from=build /package ./')
      expect(files).to.include('dist')
      expect(scripts).to.have.property('build')
    })

    it('installs dependencies before it copies the sources, and builds the native packages', () => {
      const at = (text: string) => lines.findIndex((line) => line.startsWith(text))
      expect(at('COPY package.json package-lock.json')).to.be.above(-1).and.below(at('RUN npm ci'))
      expect(at('RUN npm ci')).to.be.below(at('COPY . .'))
      const natives = Object.keys(allowScripts).join(' ')
      expect(lines).to.include(`RUN npm ci --ignore-scripts && npm rebuild ${natives}`)
    })

    it('pins its base image and does not run as root', () => {
      expect(lines.find((line) => line.startsWith('ARG NODE='))).to.match(/=\d+\.\d+\.\d+-[\w-]+$/)
      expect(lines.filter((line) => line.startsWith('FROM'))).to.deep.equal([
        `FROM node:\${NODE} AS build`,
        `FROM node:\${NODE}`,
      ])
      expect(lines).to.include('USER 1000:1000')
    })

    it('checks the health of a gateway on any port', async () => {
      const [, command = ''] = lines.find((line) => line.startsWith('HEALTHCHECK'))?.split(' CMD ') ?? []
      const [, ...args] = JSON.parse(command)
      const check = (PORT: string) =>
        promisify(execFile)(process.execPath, args, { env: { PORT } }).then(
          () => 0,
          ({ code }) => code,
        )
      const running = await startGateway()

      const { port } = new URL(running.url)
      expect(await check(port)).to.equal(0)
      await running.stop()
      expect(await check(port)).to.equal(1)
    })
  })
})

/**
 * Substitutes placeholders as Compose does: `${NAME:-default}` by the default, `${NAME:?reason}` by some
 * value.
 */
function withoutPlaceholders(environment: Record<string, string>): Record<string, string> {
  const filled = Object.entries(environment).map(([name, value]) => [
    name,
    value.replace(/\$\{\w+:-([^}]*)\}/, '$1').replace(/\$\{\w+:\?[^}]*\}/, 'x'.repeat(16)),
  ])
  return Object.fromEntries(filled)
}
