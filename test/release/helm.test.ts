import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { listSecretVariables } from '../../config/settings/environment.ts'
import { readSettings } from '../../config/settings/settings.ts'
import { runCommand } from '../support/command.ts'
import { startEventStore } from '../support/eventstore/server.ts'
import { makeFolder } from '../support/folders.ts'
import { ADMIN_KEY, AS_ADMIN } from '../support/gateway.ts'
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts'
import {
  createResourceCheck,
  findMonitorIssues,
  findSecurityIssues,
  KUBERNETES_VERSIONS,
  type Resource,
  renderChart,
  requireHelm,
  runHelm,
} from '../support/helm.ts'
import { ROOT } from '../support/root.ts'
import { writeSettings } from '../support/settings-file.ts'

const image = { repository: 'registry.example.com/signalbox' }

/** Every value that has no default, or is off by default. */
const EVERYTHING = {
  image: { ...image, digest: `sha256:${'a'.repeat(64)}`, pullSecrets: ['registry'] },
  existingKeysSecret: 'signalbox-keys',
  settings: {
    workers: 2,
    timeouts: { drain_ms: 120_001 },
    providers: { groq: { preset: 'groq' } },
    routing: { learned: 'off' },
    limits: { body_bytes: 30_000_000 },
    hsts_seconds: 31_536_000,
  },
  env: [
    { name: 'AWS_REGION', value: 'eu-west-1' },
    { name: 'GROQ_API_KEY', valueFrom: { secretKeyRef: { name: 'groq', key: 'key' } } },
  ],
  persistence: { size: '100Gi', storageClassName: 'fast' },
  service: { type: 'LoadBalancer', annotations: { 'example.com/internal': 'true' } },
  ingress: { enabled: true, hosts: ['signalbox.example.com', '*.example.org'] },
  networkPolicy: {
    from: [{ namespaceSelector: {} }],
    egress: [{ ports: [{ protocol: 'TCP', port: 8000 }], to: [{ podSelector: {} }] }],
  },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::1:role/signalbox' } },
  podAnnotations: { 'example.com/a': 'b' },
  podLabels: { team: 'platform' },
  priorityClassName: 'high',
  nodeSelector: { 'kubernetes.io/arch': 'amd64' },
  tolerations: [{ key: 'gateway', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
  topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
  extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
  extraVolumeMounts: [{ name: 'ca', mountPath: '/etc/ca' }],
}

/** Values, and the example that they complete. */
const VALUE_SETS: Record<string, { readonly values: object; readonly example?: string }> = {
  'as few values as possible': { values: { image } },
  'the example of one pod': { values: {}, example: 'single.yaml' },
  'the example of a cluster': { values: {}, example: 'cluster.yaml' },
  'a cluster of a fixed size': { values: { autoscaling: { enabled: false } }, example: 'cluster.yaml' },
  'all values with one pod': { values: EVERYTHING },
  'all values with a cluster': { values: EVERYTHING, example: 'cluster.yaml' },
  'what exists in place of what the chart creates': {
    values: {
      image,
      persistence: { existingClaim: 'data' },
      serviceAccount: { existingName: 'gateway' },
      networkPolicy: { enabled: false },
      runAsUser: null,
      fullnameOverride: 'models',
    },
  },
}

/** The variables that the Secret of a test has. */
const SECRETS = {
  ADMIN_KEY,
  EVENTSTORE_URL: 'esdb://eventlog:2113?tls=false',
  LEDGER_URL: 'postgres://signalbox:a-password@postgres/signalbox',
  REDIS_URL: 'redis://redis:6379',
}

describe('the Helm chart', () => {
  before(function () {
    requireHelm(this)
  })

  for (const [name, { values, example }] of Object.entries(VALUE_SETS)) {
    describe(`with ${name}`, () => {
      let resources: readonly Resource[]
      const one = (kind: string) => {
        const found = resources.filter((resource) => resource.kind === kind)
        expect(found, kind).to.have.length(1)
        return found[0]
      }
      const workload = () => resources.find(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
      const pod = () => workload().spec.template

      before(async () => {
        resources = await renderChart(values, example)
      })

      it('passes helm lint', async () => {
        const { status, stdout, stderr } = await runHelm('lint', values, example)
        expect(status, stdout + stderr).to.equal(0)
        expect(stdout).not.to.match(/WARNING|ERROR|Fail:/)
      })

      it('makes resources that Kubernetes knows, with the fields that it knows', async () => {
        for (const version of KUBERNETES_VERSIONS) {
          const check = createResourceCheck(version)
          const standard = resources.filter(({ kind }) => kind !== 'ServiceMonitor')
          expect(standard.length).to.be.above(3)
          expect(standard.flatMap(check), version).to.deep.equal([])
        }
        for (const monitor of resources.filter(({ kind }) => kind === 'ServiceMonitor'))
          expect(await findMonitorIssues(monitor)).to.deep.equal([])
      })

      it('makes pods that the restricted Pod Security Standard allows, without a token or a writable root', () => {
        expect(findSecurityIssues(pod())).to.deep.equal([])
        expect(pod().spec.automountServiceAccountToken).to.equal(false)
        const { containers, initContainers = [] } = pod().spec
        for (const { securityContext } of [...containers, ...initContainers])
          expect(securityContext.readOnlyRootFilesystem).to.equal(true)
      })

      it('makes no Secret', () => {
        expect(resources.map(({ kind }) => kind)).not.to.include('Secret')
      })

      it('refers to what it makes by the right names and labels', () => {
        const { labels } = pod().metadata
        const selectors = [workload(), ...resources.filter(({ kind }) => kind === 'PodDisruptionBudget')].map(
          ({ spec }) => spec.selector.matchLabels,
        )
        for (const { kind, spec } of resources) {
          if (kind === 'Service') selectors.push(spec.selector)
          if (kind === 'NetworkPolicy') selectors.push(spec.podSelector.matchLabels)
          if (kind === 'HorizontalPodAutoscaler')
            expect(spec.scaleTargetRef).to.include({ kind: 'Deployment', name: workload().metadata.name })
          if (kind === 'ServiceMonitor') {
            const services = resources.filter((one) => one.kind === 'Service')
            const wanted = Object.entries(spec.selector.matchLabels)
            const selected = services.filter((one) =>
              wanted.every(([label, value]) => one.metadata.labels[label] === value),
            )
            expect(selected.map((one) => one.spec.ports[0].name)).to.deep.equal(['metrics'])
            expect(selected[0].metadata.labels[spec.jobLabel]).to.equal('signalbox')
          }
        }
        for (const selector of selectors) expect(labels).to.include(selector)

        const [container] = pod().spec.containers
        const ports = container.ports.map((port: Resource) => port.name)
        const services = resources.filter(({ kind }) => kind === 'Service')
        for (const { spec } of services)
          for (const { targetPort } of spec.ports) expect(ports).to.include(targetPort)
        const claims = workload().spec.volumeClaimTemplates ?? []
        const volumes = [
          ...pod().spec.volumes.map((one: Resource) => one.name),
          ...claims.map((one: Resource) => one.metadata.name),
        ]
        expect(new Set(volumes).size).to.equal(volumes.length)
        for (const { volumeMounts } of [container, ...(pod().spec.initContainers ?? [])])
          for (const { name: volume } of volumeMounts) expect(volumes).to.include(volume)
        const settings = pod().spec.volumes.find((one: Resource) => one.name === 'settings')
        expect(settings.configMap.name).to.equal(one('ConfigMap').metadata.name)
      })

      it('gives requests in flight time to finish', async () => {
        const { timeouts } = readSettings(await environmentOf(resources))
        // Workers may take 10 s to close once their connections have ended, and preStop sleeps for 5.
        const { terminationGracePeriodSeconds } = pod().spec
        expect(terminationGracePeriodSeconds * 1000).to.be.at.least(timeouts.drain_ms + 15_000)
      })

      it('makes settings that "config check" accepts, with every secret from elsewhere', async () => {
        const { code, stdout, stderr } = await runCommand(['config', 'check'], await environmentOf(resources))
        expect(stderr).to.equal('')
        expect(code).to.equal(0)
        expect(stdout).to.contain('The settings and plugins are valid.')
        const settings = readSettings(await environmentOf(resources))
        expect(settings).to.include({ host: '0.0.0.0', data_dir: '/data', metrics_port: 9464 })
        expect(JSON.stringify(resources)).not.to.contain('a-password')
      })
    })
  }

  describe('refuses', () => {
    const secretSettings = listSecretVariables({}).map((name) => [
      `settings.${name.toLowerCase()}`,
      { settings: { [name.toLowerCase()]: 'a-secret' } },
      `Put ${name} into the Secret that existingSecret names`,
    ])
    const cases: [string, object, string][] = [
      ...(secretSettings as [string, object, string][]),
      ['no image', { image: { repository: '' } }, 'Build config/deploy/Dockerfile'],
      ['a cluster without a Secret', { mode: 'cluster' }, 'EVENTSTORE_URL, LEDGER_URL and REDIS_URL'],
      ['a cluster without keys', { mode: 'cluster', existingSecret: 'a' }, 'existingKeysSecret is not set'],
      ['autoscaling of one pod', { autoscaling: { enabled: true } }, 'needs mode: cluster'],
      ['a port in the settings', { settings: { port: 80 } }, 'settings.port is set by the chart'],
      ['a data folder', { settings: { data_dir: '/x' } }, 'settings.data_dir is set by the chart'],
      [
        'an address with a password',
        { settings: { providers: { openai: { base_url: 'https://me:secret@example.com' } } } },
        'an address with a password',
      ],
      ['a secret variable', { env: [{ name: 'OPENAI_API_KEY', value: 'sk' }] }, 'OPENAI_API_KEY is a secret'],
      ['an address variable', { env: [{ name: 'REDIS_URL', value: 'x' }] }, 'REDIS_URL is a secret'],
      ['a variable of the chart', { env: [{ name: 'PORT', value: '80' }] }, 'PORT is set by the chart'],
      ['an ingress without a host', { ingress: { enabled: true } }, 'Name at least one host'],
      ['an unknown value', { persistance: {} }, "additional properties 'persistance' not allowed"],
      ['a value of another type', { replicas: '2' }, "at '/replicas'"],
    ]
    for (const [name, values, message] of cases)
      it(`${name}`, async () => {
        const { status, stderr } = await runHelm('template', { image, ...values })
        expect(status).to.equal(1)
        expect(stderr).to.contain(message)
      })
  })

  it('replaces the pods when the settings change', async () => {
    const checksumOf = async (settings: object) => {
      const resources = await renderChart({ image, settings })
      const { template } = resources.find(({ kind }) => kind === 'StatefulSet').spec
      return template.metadata.annotations['checksum/settings']
    }
    expect(await checksumOf({ workers: 2 })).not.to.equal(await checksumOf({ workers: 3 }))
    expect(await checksumOf({ workers: 2 })).to.equal(await checksumOf({ workers: 2 }))
  })

  describe('as processes', () => {
    it('answers the probes, metrics without a key, and the commands of the notes and the guide', async () => {
      const resources = await renderChart({ image })
      const [container] = podOf(resources).containers
      const environment = await localEnvironmentOf(resources)
      const gateway = await startGatewayProcess(environment)
      for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'])
        expect((await fetch(gateway.url + container[probe].httpGet.path)).status, probe).to.equal(200)
      const metrics = gateway.stderr().match(/http:\/\/[\d.:]+\/metrics/)?.[0] ?? ''
      const monitor = (await renderChart({ image, serviceMonitor: { enabled: true } })).at(-1)
      expect(new URL(metrics).pathname).to.equal(monitor.spec.endpoints[0].path)
      expect((await fetch(metrics)).status).to.equal(200)
      for (const file of ['docs/guides/kubernetes.md', 'config/deploy/helm/signalbox/templates/NOTES.txt']) {
        const text = await readFile(new URL(file, ROOT), 'utf8')
        const [, command = ''] = text.match(/ -- node dist\/program\/main\.js (users .+)$/m) ?? []
        const DATA_DIR = gateway.dataDir
        const { code, stderr } = await runCommand(command.split(' '), { ...environment, DATA_DIR })
        expect({ code, stderr }, file).to.deep.equal({ code: 0, stderr: '' })
      }
      expect(await gateway.stop()).to.equal(0)
    })

    it('share the keys of a Secret in a cluster, also with a pod that begins with an empty folder', async () => {
      const server = await startEventStore()
      const resources = await renderChart({}, 'cluster.yaml')
      const environment = {
        ...(await localEnvironmentOf(resources)),
        EVENTSTORE_URL: server.connectionString,
        // Not part of this test.
        LEDGER_URL: '',
        REDIS_URL: '',
      }
      const secret = await createKeys()
      const startPod = async () => {
        const dataDir = await makeFolder()
        await installKeys(resources, secret, dataDir)
        return startGatewayProcess(environment, { dataDir })
      }
      const first = await startPod()
      const second = await startPod()
      const cookie = await signIn(first)
      expect(await isSignedIn(second, cookie)).to.equal(true)
      const keys = [await checkpoint(first), await checkpoint(second)]
      await first.stop()
      const third = await startPod()
      expect(await isSignedIn(third, cookie)).to.equal(true)
      keys.push(await checkpoint(third))
      expect(new Set(keys).size).to.equal(1)
      await Promise.all([second.stop(), third.stop()])
      await server.stop()
    })
  })
})

const podOf = (resources: readonly Resource[]) =>
  resources.find(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet').spec.template.spec

/** The environment of a container, with the settings in a local file and the variables of Secrets. */
async function environmentOf(resources: readonly Resource[]): Promise<Record<string, string>> {
  const [container] = podOf(resources).containers
  const { data } = resources.find(({ kind }) => kind === 'ConfigMap')
  const values = container.env.map(({ name, value, valueFrom }: Resource) => [
    name,
    value ?? SECRETS[valueFrom.secretKeyRef.key as keyof typeof SECRETS] ?? 'a-key-of-a-provider',
  ])
  const mount = container.volumeMounts.find((one: Resource) => one.name === 'settings')
  const { CONFIG, ...environment } = Object.fromEntries(values)
  expect(CONFIG).to.equal(`${mount.mountPath}/settings.yaml`)
  const ofSecret = container.envFrom === undefined ? {} : { ADMIN_KEY }
  return { ...environment, ...ofSecret, CONFIG: await writeSettings(data['settings.yaml']) }
}

/** As `environmentOf`, with free ports and a folder of this machine. */
async function localEnvironmentOf(resources: readonly Resource[]): Promise<Record<string, string>> {
  const { DATA_DIR: _, ...environment } = await environmentOf(resources)
  return { ...environment, ADMIN_KEY, HOST: '127.0.0.1', PORT: '0', ROUTE_PORT: '0', METRICS_PORT: '0' }
}

/** A folder with the files that docs/guides/kubernetes.md creates. */
async function createKeys(): Promise<string> {
  const guide = await readFile(new URL('docs/guides/kubernetes.md', ROOT), 'utf8')
  const [script] = guide.match(/^openssl genpkey[^\n]*\n(?:openssl|head)[^\n]*\n/m) ?? ['']
  expect(script).to.contain('checkpoints.pem').and.to.contain('console-sessions.key')
  const cwd = await makeFolder()
  execFileSync('sh', ['-ec', script], { cwd, stdio: 'ignore' })
  return cwd
}

/** Runs the init container on folders of this machine. */
async function installKeys(resources: readonly Resource[], secret: string, dataDir: string): Promise<void> {
  const [{ command }] = podOf(resources).initContainers
  const script = command[2].replaceAll('/data/keys', `${dataDir}/keys`).replaceAll(' /keys/', ` ${secret}/`)
  execFileSync(command[0], [command[1], script])
}

/** The cookie of a session of the console. */
async function signIn(gateway: GatewayProcess): Promise<string> {
  const { status, headers } = await gateway.call('POST', '/console/session', undefined, AS_ADMIN)
  expect(status).to.equal(201)
  return (headers.get('set-cookie') ?? '').split(';')[0] ?? ''
}

async function isSignedIn(gateway: GatewayProcess, cookie: string): Promise<boolean> {
  const headers = { authorization: '', cookie }
  return (await gateway.call('GET', '/console/session', undefined, headers)).body.data?.type === 'root'
}

/** Signs a checkpoint. Resolves with the id of the key, of which the signature in its note begins. */
async function checkpoint(gateway: GatewayProcess): Promise<string> {
  const response = await fetch(`${gateway.url}/admin/audit/checkpoint`, { method: 'POST', headers: AS_ADMIN })
  const note = await response.text()
  expect(response.status, note).to.be.within(200, 201)
  const [, signature = ''] = note.match(/^\u2014 \S+ (\S+)$/m) ?? []
  expect(signature, note).not.to.equal('')
  return Buffer.from(signature, 'base64').subarray(0, 4).toString('hex')
}
