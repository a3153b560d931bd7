import { errorsOf } from '../../core/contract/index.ts'

export const IDENTITY_ERROR_CODES = {
  token_expired: {
    status: 401,
    type: 'authentication_error',
    description: 'The token of the identity provider has expired.',
  },
  token_invalid: {
    status: 401,
    type: 'authentication_error',
    description:
      'The token of the identity provider is not valid here: its issuer, audience, signature, algorithm or ' +
      'another claim is wrong.',
  },
  user_unknown: {
    status: 403,
    type: 'permission_error',
    description: 'The token is valid, but its subject is no user, and the settings create none.',
  },
  identity_unavailable: {
    status: 503,
    type: 'api_error',
    description: 'The identity provider cannot be reached, or its keys cannot be fetched.',
  },
  sign_in_failed: {
    status: 400,
    type: 'invalid_request_error',
    description: 'A sign-in with the identity provider was not begun in this browser, or is not valid.',
  },
  sign_in_refused: {
    status: 403,
    type: 'permission_error',
    description: 'The identity provider refused to sign the person in.',
  },
  role_missing: {
    status: 403,
    type: 'permission_error',
    description: 'The identity provider gives the person no role of an operator.',
  },
} as const

export const identityError = errorsOf(IDENTITY_ERROR_CODES)
