import { env } from 'node:process'

/** Replaces all variables of AWS, and leaves its libraries no other place to look. Returns what undoes it. */
export function setAwsEnvironment(variables: Readonly<Record<string, string>>): () => void {
  const before = Object.entries(env).filter(([name]) => name.startsWith('AWS_'))
  const clear = () => {
    for (const name of Object.keys(env)) if (name.startsWith('AWS_')) delete env[name]
  }
  clear()
  Object.assign(env, {
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    ...variables,
  })
  return () => {
    clear()
    Object.assign(env, Object.fromEntries(before))
  }
}
