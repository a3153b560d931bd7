import type { ProviderLocation } from '../../core/contract/provider.ts'

/** The multi-region endpoints: https://cloud.google.com/vertex-ai/docs/general/locations */
const MULTI_REGIONS = ['us', 'eu']

/** Google's SDKs read the same variable. */
export function vertexBaseUrl({ location }: ProviderLocation): string | undefined {
  const own = process.env.GOOGLE_VERTEX_BASE_URL
  if (own) return own
  if (location === undefined) return undefined
  if (location === 'global') return 'https://aiplatform.googleapis.com'
  if (MULTI_REGIONS.includes(location)) return `https://aiplatform.${location}.rep.googleapis.com`
  return `https://${location}-aiplatform.googleapis.com`
}

/** Returns the path of a method of a model. */
export type VertexPath = (publisher: string, model: string, method: string) => string

export function createVertexPath({ project = '', location = '' }: ProviderLocation): VertexPath {
  const parent = `/v1/projects/${encodeURIComponent(project)}/locations/${encodeURIComponent(location)}`
  return (publisher, model, method) =>
    `${parent}/publishers/${publisher}/models/${toSegment(model)}:${method}`
}

/** Versions of Claude follow an `@`. */
function toSegment(model: string): string {
  return encodeURIComponent(model).replaceAll('%40', '@')
}
