import { OPERATOR_ROLES, PLANS, StrictObject, StringEnum, Type } from '../../core/contract/index.ts'

const ASYMMETRIC = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const),
] as const

const claim = (description: string) => Type.String({ minLength: 1, maxLength: 256, description })

const UserClaims = StrictObject(
  {
    id: Type.Optional(claim('Claim that identifies a user. Default: sub.')),
    name: Type.Optional(claim('Claim with the name of a new user. Default: email.')),
    plan: Type.Optional(StringEnum(PLANS, { description: 'Plan of a new user. Default: free.' })),
    create: Type.Optional(
      Type.Boolean({ description: 'Whether unknown subjects become users (default), or get 403.' }),
    ),
  },
  { description: 'Who the user of a token is.' },
)

const GroupClaims = StrictObject(
  {
    claim: claim('Claim with the groups, also as a path: realm_access.roles.'),
    map: Type.Optional(
      Type.Record(Type.String(), Type.String({ minLength: 1, maxLength: 128 }), {
        description:
          'Names of groups by values of the claim; other values do not count. Default: values are names.',
      }),
    ),
    create: Type.Optional(
      Type.Boolean({ description: 'Whether groups that do not exist are created. Default: false.' }),
    ),
  },
  { description: 'Which groups the user of a token is in. Without it, tokens change no memberships.' },
)

const LOCAL = 'http://(localhost|127\\.0\\.0\\.1|\\[::1\\])'

const Issuer = Type.String({
  pattern: `^(https://|${LOCAL}[:/])`,
  description: 'The iss of the tokens: an HTTPS URL, or HTTP on this machine.',
})

const Caller = StrictObject({
  issuer: Issuer,
  audience: Type.Union(
    [Type.String({ minLength: 1 }), Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })],
    { description: 'The aud of the tokens, or several, of which a token must have one.' },
  ),
  algorithms: Type.Optional(
    Type.Array(StringEnum(ASYMMETRIC), {
      minItems: 1,
      description: 'Algorithms of signatures. Default: all of the list; HMAC and none are never accepted.',
    }),
  ),
  jwks_uri: Type.Optional(
    Type.String({
      pattern: '^https?://',
      description: 'URL of the keys of the issuer. Default: what its discovery document says.',
    }),
  ),
  user: Type.Optional(UserClaims),
  groups: Type.Optional(GroupClaims),
  require: Type.Optional(
    Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]), {
      description: 'Values that claims must have, or lists must contain: repository_owner: acme.',
    }),
  ),
})

const Console = StrictObject(
  {
    issuer: Issuer,
    client_id: Type.String({
      minLength: 1,
      description: 'Id of the gateway at the provider. Its secret is in OIDC_CLIENT_SECRET, if it has one.',
    }),
    scopes: Type.Optional(
      Type.Array(Type.String({ pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$' }), {
        description: 'Scopes that are asked for. Default: openid, profile, email.',
      }),
    ),
    roles: StrictObject(
      {
        claim: claim('Claim with the roles or groups of a person, also as a path: realm_access.roles.'),
        map: Type.Record(Type.String(), StringEnum(OPERATOR_ROLES), {
          minProperties: 1,
          description: 'Roles of operators by values of the claim. Of several, the highest counts.',
        }),
      },
      { description: 'Who may sign in, and as what.' },
    ),
    scope: Type.Optional(
      StrictObject(
        {
          claim: claim('Claim with the groups that an operator is confined to, also as a path.'),
          map: Type.Record(Type.String(), Type.String({ minLength: 1, maxLength: 128 }), {
            minProperties: 1,
            description: 'Names of groups by values of the claim; * means everything.',
          }),
        },
        { description: 'To which groups operators are confined. Without a mapped value, to none.' },
      ),
    ),
    only: Type.Optional(
      Type.Boolean({
        description: 'Whether keys other than the ADMIN_KEY are refused on the console. Default: false.',
      }),
    ),
    url: Type.Optional(
      Type.String({
        pattern: `^(https://[^/?#@]+|${LOCAL}(:\\d+)?)(/[^?#]*)?$`,
        description:
          'Address of the gateway for browsers, such as https://signalbox.example.com. Required unless ' +
          'host is an address of this machine.',
      }),
    ),
  },
  { description: 'How operators sign in to the console, besides keys (docs/guides/sign-in.md).' },
)

const ClaudeCode = StrictObject({
  enabled: Type.Boolean({ default: false, description: 'Whether Claude Code signs in with /login.' }),
  settings: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'File with the managed settings of Claude Code by group, relative to the working directory; it is ' +
        'read again when it changes.',
    }),
  ),
})

/** The setting `identity` (docs/guides/identity.md). */
export const IdentitySettings = StrictObject({
  claude_code: Type.Optional(ClaudeCode),
  callers: Type.Optional(
    Type.Array(Caller, { description: 'Whose tokens (JWT) callers may use in place of API keys.' }),
  ),
  console: Type.Optional(Console),
})
