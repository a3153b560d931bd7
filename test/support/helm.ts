import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { loadAll, YAML11_SCHEMA } from 'js-yaml'
import type { Context } from 'mocha'
import { makeFolder } from './folders.ts'
import { ROOT } from './root.ts'
import { skip } from './skip.ts'

/** What `.ci/helm` builds and fetches. */
const HOME = fileURLToPath(new URL('node_modules/.cache/helm/', ROOT))

export const CHART = fileURLToPath(new URL('config/deploy/helm/signalbox/', ROOT))

/** The oldest version that the chart accepts, and the newest one of the schemas. */
export const KUBERNETES_VERSIONS = ['1.27', '1.37'] as const

// biome-ignore lint/suspicious/noExplicitAny: assertions read fields of any resource
export type Resource = any

/** Skips the suite if Helm was not built; fails instead if CI is set. */
export function requireHelm(context: Context): void {
  if (existsSync(`${HOME}installed`)) return
  if (process.env.CI) throw new Error('Helm was not built by .ci/helm, and is required in CI')
  skip(context, 'Helm was not built: run .ci/helm, which needs Go and Python')
}

/** Runs Helm on the chart with these values, after those of an example. */
export async function runHelm(command: 'lint' | 'template', values: object, example?: string) {
  const file = path.join(await makeFolder(), 'values.json')
  await writeFile(file, JSON.stringify(values))
  const name = command === 'template' ? ['gw', '--namespace', 'gateway'] : ['--strict']
  const files = [...(example === undefined ? [] : [path.join(CHART, 'examples', example)]), file]
  const { status, stdout, stderr } = spawnSync(
    `${HOME}helm`,
    [
      command,
      ...name,
      CHART,
      '--kube-version',
      KUBERNETES_VERSIONS[0],
      ...files.flatMap((one) => ['-f', one]),
    ],
    { encoding: 'utf8' },
  )
  return { status, stdout, stderr }
}

/** The resources that Helm makes of the values. Rejects if it refuses them. */
export async function renderChart(values: object, example?: string): Promise<readonly Resource[]> {
  const { status, stdout, stderr } = await runHelm('template', values, example)
  if (status !== 0) throw new Error(stderr)
  // Kubernetes reads YAML 1.1.
  return loadAll(stdout, { schema: YAML11_SCHEMA }).filter((resource) => resource !== null)
}

/** What the schemas of a version of Kubernetes find, unknown fields included. */
export function createResourceCheck(version: string): (resource: Resource) => readonly string[] {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true })
  const definitions = JSON.parse(readFileSync(`${HOME}kubernetes-${version}.json`, 'utf8'))
  ajv.addSchema(definitions)
  return (resource) => {
    const name = findDefinition(definitions.$defs, resource)
    if (name === undefined) return [`${version} has no ${resource.apiVersion} ${resource.kind}`]
    const validate = ajv.getSchema(`${definitions.$id}#/$defs/${name}`)
    if (validate === undefined) throw new Error(`no schema of ${name}`)
    if (validate(resource)) return []
    return (validate.errors ?? []).map((error) => `${resource.kind}${error.instancePath} ${error.message}`)
  }
}

function findDefinition(definitions: object, { apiVersion, kind }: Resource): string | undefined {
  const wanted = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`
  const key = 'x-kubernetes-group-version-kind'
  return Object.entries<Resource>(definitions).find(([, definition]) =>
    definition[key]?.some((one: Resource) => `${one.group}/${one.version}` === wanted && one.kind === kind),
  )?.[0]
}

/** What the schema of the Prometheus operator finds in a ServiceMonitor. */
export async function findMonitorIssues(monitor: Resource): Promise<readonly string[]> {
  const model = 'prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor.js'
  const file = `${HOME}node_modules/@kubernetes-models/${model}`
  const { ServiceMonitor } = await import(pathToFileURL(file).href)
  try {
    new ServiceMonitor(monitor).validate()
    return []
  } catch (error) {
    return [String(error)]
  }
}

/** What Kubernetes' admission controller finds in a pod by the restricted Pod Security Standard. */
export function findSecurityIssues(template: Resource): readonly string[] {
  const input = JSON.stringify(template)
  const { status, stdout, stderr } = spawnSync(`${HOME}pod-security`, { input, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return stdout.split('\n').filter((line) => line !== '')
}
