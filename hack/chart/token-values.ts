/** The tokens of the chart's values: where each comes from. */
import { closed, flag, secretKey, text } from './schema.ts'

export const TOKENS = closed({
  generate: flag(
    'Let the bootstrap process create the Secrets that are not named below. It never changes an existing Secret.',
    true,
  ),
  admin: secretKey('Secret with the admin token; "" = generated.', 'admin-token'),
  worker: secretKey('Secret with the worker token; "" = generated.', 'worker-token'),
  workerPeers: secretKey(
    'Secret with additional worker tokens, for rotation; "" = the generated Secret, if it exists.',
    'worker-tokens',
  ),
  scaler: secretKey(
    'Secret with the token of autoscalers, which can only read the load of each type; "" = generated, if the other ' +
      'tokens are.',
    'scaler-token',
  ),
  scopes: secretKey(
    'Secret with tokens for single automation types; "" = the generated Secret, if it exists.',
    'token-scopes',
  ),
  operator: secretKey('Secret with a token for the operator; "" = the admin token.', 'api-token'),
  named: secretKey('Secret with named tokens, as in SVC_TOKENS; "" = none.', 'tokens'),
  kubernetes: closed({
    enabled: flag(
      'Workers and the operator use tokens of their ServiceAccounts, which Kubernetes replaces every hour, instead ' +
        'of tokens in Secrets.',
      false,
    ),
    issuer: text(
      'Issuer of these tokens: `kubectl get --raw /.well-known/openid-configuration` shows it.',
      'https://kubernetes.default.svc.cluster.local',
      { pattern: '^https://' },
    ),
  }),
  issuers: secretKey('Secret with the issuers of JWTs, as in SVC_JWT_ISSUERS; "" = none.', 'jwt-issuers'),
})
