/**
 * Returns the URL of a service of AWS: that of the environment, as AWS's own tools read it, or else that of
 * the region; undefined without either.
 */
export function findAwsEndpoint(service: 'bedrock-runtime' | 'sts', region: string): string
export function findAwsEndpoint(service: 'bedrock-runtime' | 'sts', region?: string): string | undefined
export function findAwsEndpoint(service: string, region?: string): string | undefined {
  const { AWS_ENDPOINT_URL, AWS_IGNORE_CONFIGURED_ENDPOINT_URLS, ...rest } = process.env
  const own = rest[`AWS_ENDPOINT_URL_${service.toUpperCase().replace('-', '_')}`]
  const isIgnored = AWS_IGNORE_CONFIGURED_ENDPOINT_URLS?.toLowerCase() === 'true'
  const configured = isIgnored ? undefined : own || AWS_ENDPOINT_URL || undefined
  if (configured !== undefined || region === undefined) return configured
  return `https://${service}.${region}.${domainOf(region)}`
}

/** Partitions other than that of most regions. */
function domainOf(region: string): string {
  if (region.startsWith('cn-')) return 'amazonaws.com.cn'
  return region.startsWith('eusc-') ? 'amazonaws.eu' : 'amazonaws.com'
}
