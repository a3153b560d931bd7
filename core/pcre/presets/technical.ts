import { isIP } from 'node:net'
import type { Preset } from './preset.ts'

/** Tokens that begin with a prefix of their issuer. */
function token(name: string, description: string, pattern: string, valid: string, invalid: string): Preset {
  return {
    name,
    description,
    pattern: `/(?<![A-Za-z0-9_])${pattern}(?![A-Za-z0-9])/`,
    examples: { valid: [valid], invalid: [invalid] },
  }
}

const x = (count: number) => 'aB3'.repeat(count).slice(0, count)

/** Presets for addresses, keys and other secrets of machines. */
export const TECHNICAL_PRESETS: readonly Preset[] = [
  {
    name: 'ip_address',
    description: 'IPv4 and IPv6 addresses',
    pattern:
      '/(?<![\\w.:])(?:\\d{1,3}(?:\\.\\d{1,3}){3}|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7})(?![\\w:]|\\.\\d)/i',
    validate: (match) => (isIP(match) !== 0 && match !== '::' ? match.length : 0),
    checked: 'a valid address',
    examples: {
      valid: ['203.0.113.77', '2001:db8::8a2e:370:7334', '::1'],
      invalid: ['300.1.1.1', '1.2.3.4.5', '10:45:30'],
    },
  },
  token(
    'aws_access_key',
    'AWS access key ids',
    '(?:AKIA|ASIA)[A-Z2-7]{16}',
    'AKIAIOSFODNN7EXAMPLE',
    'AKIA1234',
  ),
  {
    name: 'aws_secret_key',
    description: 'AWS secret keys next to their name',
    pattern: '/aws.{0,20}?(?:secret|key).{0,20}?[\\s:=\'"](?<key>[A-Za-z0-9\\/+]{40})(?![A-Za-z0-9\\/+=])/is',
    examples: {
      valid: ['AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'],
      invalid: ['wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', 'aws secret key: short'],
    },
  },
  token('google_api_key', 'Google API keys', 'AIza[\\w-]{35}', `AIza${x(35)}`, `AIza${x(20)}`),
  token('google_oauth_token', 'Google OAuth tokens', 'ya29\\.[\\w-]{20,}', `ya29.${x(60)}`, 'ya29.x'),
  {
    name: 'azure_storage_key',
    description: 'Azure storage account keys in connection strings',
    pattern: '/AccountKey=[A-Za-z0-9+\\/]{86}==/',
    examples: { valid: [`AccountKey=${x(86)}==`], invalid: [`AccountKey=${x(40)}==`] },
  },
  token(
    'github_token',
    'GitHub tokens',
    '(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\\w{22,})',
    `ghp_${x(36)}`,
    'ghp_short',
  ),
  token('gitlab_token', 'GitLab tokens', 'gl(?:pat|ptt|dt|rt|cbt)-[\\w-]{20,}', `glpat-${x(20)}`, 'glpat-x'),
  token('npm_token', 'npm tokens', 'npm_[A-Za-z0-9]{36}', `npm_${x(36)}`, 'npm_install'),
  token('slack_token', 'Slack tokens', 'xox[abeoprs]-[A-Za-z0-9-]{10,}', `xoxb-${x(24)}`, 'xoxb-x'),
  token(
    'stripe_key',
    'Stripe keys',
    '(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}',
    `sk_live_${x(24)}`,
    'sk_live_x',
  ),
  token(
    'openai_key',
    'OpenAI keys',
    'sk-(?:proj-|svcacct-|admin-)?[\\w-]{32,}',
    `sk-proj-${x(48)}`,
    'sk-short',
  ),
  token('anthropic_key', 'Anthropic keys', 'sk-ant-[\\w-]{32,}', `sk-ant-api03-${x(48)}`, 'sk-ant-x'),
  token('signalbox_key', 'keys of this gateway', 'tr_[A-Za-z0-9]{43}', `tr_${x(43)}`, 'tr_req_x'),
  {
    name: 'jwt',
    description: 'JSON web tokens',
    pattern: '/(?<![\\w.-])eyJ[\\w-]{5,}\\.eyJ[\\w-]{5,}\\.[\\w-]{10,}(?![\\w-])/',
    validate: (match) => (isJwtHeader(match.slice(0, match.indexOf('.'))) ? match.length : 0),
    checked: 'a header with "alg"',
    examples: {
      valid: ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U'],
      invalid: [
        'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9',
        'eyJmb28iOiJiYXIifQ.eyJzdWIiOiIxMjM0NSJ9.dozjgNryP4J3',
      ],
    },
  },
  {
    name: 'private_key',
    description: 'private keys in PEM and OpenSSH format',
    pattern:
      '/-----BEGIN (?:(?:RSA|EC|DSA|OPENSSH|ENCRYPTED) )?PRIVATE KEY(?: BLOCK)?-----' +
      '[^-]{16,}(?:-----END [A-Z ]{1,40}-----)?/',
    examples: {
      valid: [`-----BEGIN RSA PRIVATE KEY-----\n${x(64)}\n-----END RSA PRIVATE KEY-----`],
      invalid: [`-----BEGIN PUBLIC KEY-----\n${x(64)}\n-----END PUBLIC KEY-----`],
    },
  },
  {
    name: 'url_with_password',
    description: 'URLs that hold a user name and a password',
    pattern: '/\\b[a-z][a-z0-9+.-]{1,20}:\\/\\/[^\\s\\/:@]+:[^\\s\\/@]+@[^\\s\\/]+/i',
    examples: {
      valid: ['postgres://app:hunter2@db.internal/main'],
      invalid: ['https://example.com/a:b@c', 'https://user@example.com/'],
    },
  },
]

function isJwtHeader(header: string): boolean {
  try {
    const decoded: unknown = JSON.parse(Buffer.from(header, 'base64url').toString())
    return typeof decoded === 'object' && decoded !== null && 'alg' in decoded
  } catch {
    return false
  }
}
