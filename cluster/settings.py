"""All settings, each switch from the environment, typed and safe by default."""

from pathlib import Path
from urllib.parse import urlsplit

from cluster.environment import (
    database_from,
    env_address,
    env_bool,
    env_float,
    env_int,
    env_needed,
    env_origin,
    env_pairs,
    env_secret,
    env_text,
    env_words,
)
from cluster.installation import CODE, SHARED_FILES, usual_data_directory
from cluster.log_lines import is_fault

#: Of the packages; in a checkout the project's root.
BASE_DIR = CODE

BIVOUAC_DATA_DIR = Path(env_text("BIVOUAC_DATA_DIR") or usual_data_directory()).resolve()
BIVOUAC_HOST = env_text("BIVOUAC_HOST", "127.0.0.1")
BIVOUAC_PORT = env_int("BIVOUAC_PORT", 4646, low=1, high=65535)
#: How browsers and command lines reach the server; https here turns on secure cookies and HSTS.
BIVOUAC_PUBLIC_URL = env_origin("BIVOUAC_PUBLIC_URL", f"http://{BIVOUAC_HOST}:{BIVOUAC_PORT}")
BIVOUAC_REDIS_URL = env_text("REDIS_URL", "redis://127.0.0.1:6379/0")
BIVOUAC_REGION = env_text("BIVOUAC_REGION", "global")
#: Under which address others find the keys that sign identities; empty: it is told to nobody.
BIVOUAC_TOKEN_ISSUER = env_address("BIVOUAC_TOKEN_ISSUER")
#: Where evaluations go as traces, by OTLP over HTTP; empty: nowhere.
BIVOUAC_OTLP_ENDPOINT = env_address("BIVOUAC_OTLP_ENDPOINT") or env_address(
    "OTEL_EXPORTER_OTLP_ENDPOINT"
)
#: Headers of what is sent there, and a file of the authorities to trust.
OTEL_EXPORTER_OTLP_HEADERS = env_text("OTEL_EXPORTER_OTLP_HEADERS", "")
OTEL_EXPORTER_OTLP_CERTIFICATE = env_text("OTEL_EXPORTER_OTLP_CERTIFICATE", "")
#: Of how many stories in a hundred every evaluation is sent, and of the others none.
BIVOUAC_TRACE_SHARE = env_float("BIVOUAC_TRACE_SHARE", 100, low=0.01, high=100)
#: What tells of a node which rack it stands in; the first of these that any node has counts.
BIVOUAC_RACK_KEYS = env_words("BIVOUAC_RACK_KEYS", "meta.rack,attr.rack,attr.platform.rack")
#: Whether webhooks may be addresses inside the network.
BIVOUAC_WEBHOOK_PRIVATE = env_bool("BIVOUAC_WEBHOOK_PRIVATE", default=False)
#: Whom people without rights are told to ask; empty: administrators by name.
BIVOUAC_ACCESS_CONTACT = env_text("BIVOUAC_ACCESS_CONTACT")
#: Sign-in of people by an OpenID provider; without an issuer there is none.
BIVOUAC_OIDC_ISSUER = env_address("BIVOUAC_OIDC_ISSUER")
BIVOUAC_OIDC_CLIENT_ID = env_needed("BIVOUAC_OIDC_CLIENT_ID", when=BIVOUAC_OIDC_ISSUER)
BIVOUAC_OIDC_CLIENT_SECRET = env_text("BIVOUAC_OIDC_CLIENT_SECRET")
#: What people call it: "Sign in with ...".
BIVOUAC_OIDC_NAME = env_text("BIVOUAC_OIDC_NAME", "your provider")
BIVOUAC_OIDC_SCOPES = env_words("BIVOUAC_OIDC_SCOPES", "profile,email")
#: Claims, or JSON pointers to them: what an account is called, and which groups it is in.
BIVOUAC_OIDC_NAME_CLAIM = env_text("BIVOUAC_OIDC_NAME_CLAIM", "preferred_username")
BIVOUAC_OIDC_GROUPS_CLAIM = env_text("BIVOUAC_OIDC_GROUPS_CLAIM", "groups")
#: Their names of groups to ours; without it both are called the same.
BIVOUAC_OIDC_GROUPS = env_pairs("BIVOUAC_OIDC_GROUPS")
#: A file of certificates to trust instead of the system's, and after how long one signs in again.
BIVOUAC_OIDC_CA_FILE = env_text("BIVOUAC_OIDC_CA_FILE")
BIVOUAC_OIDC_SESSION_HOURS = env_float("BIVOUAC_OIDC_SESSION_HOURS", 12, low=0.01, high=24 * 365)
BIVOUAC_WORKERS = env_int("BIVOUAC_WORKERS", 2, low=1, high=256)
#: A demo runs beside: the page Now offers its scenarios. `up --demo` sets it.
BIVOUAC_DEMO = env_bool("BIVOUAC_DEMO", default=False)
#: Seconds; see control-plane.md 8.
BIVOUAC_MIN_HEARTBEAT_TTL = env_float("BIVOUAC_MIN_HEARTBEAT_TTL", 10, low=0.1, high=3600)
BIVOUAC_HEARTBEAT_GRACE = env_float("BIVOUAC_HEARTBEAT_GRACE", 10, low=0.1, high=3600)
BIVOUAC_FAILOVER_HEARTBEAT_TTL = env_float(
    "BIVOUAC_FAILOVER_HEARTBEAT_TTL", 300, low=0.1, high=86400
)
#: Seconds a delivery may stay unanswered, and how often an evaluation is delivered at most.
BIVOUAC_NACK_TIMEOUT = env_float("BIVOUAC_NACK_TIMEOUT", 60, low=0.1, high=3600)
BIVOUAC_DELIVERY_LIMIT = env_int("BIVOUAC_DELIVERY_LIMIT", 3, low=1, high=100)
#: Whether nodes that plans are refused for again and again are closed; how often in how many
#: seconds that is.
BIVOUAC_PLAN_REJECTION_TRACKER = env_bool("BIVOUAC_PLAN_REJECTION_TRACKER", default=True)
BIVOUAC_PLAN_REJECTION_THRESHOLD = env_int(
    "BIVOUAC_PLAN_REJECTION_THRESHOLD", 100, low=1, high=10**6
)
BIVOUAC_PLAN_REJECTION_WINDOW = env_float(
    "BIVOUAC_PLAN_REJECTION_WINDOW", 300, low=0.1, high=86400
)
#: Seconds in which the head of a request, and then its body, must have come; and how many requests
#: of one address may be unfinished before the oldest is dropped.
BIVOUAC_HEADER_SECONDS = env_float("BIVOUAC_HEADER_SECONDS", 30, low=0.1, high=3600)
BIVOUAC_BODY_SECONDS = env_float("BIVOUAC_BODY_SECONDS", 120, low=0.1, high=86400)
BIVOUAC_STALLED_PER_ADDRESS = env_int("BIVOUAC_STALLED_PER_ADDRESS", 256, low=1, high=2**20)
#: The largest snapshot that is taken in through the API.
BIVOUAC_SNAPSHOT_BYTES = env_int("BIVOUAC_SNAPSHOT_BYTES", 4 * 1024**3, low=1024, high=2**50)
#: What the event log keeps.
# How often a core job runs, and how old what it collects must be, in seconds.
BIVOUAC_EVAL_GC_INTERVAL = env_float("BIVOUAC_EVAL_GC_INTERVAL", 300, low=1, high=86400)
BIVOUAC_EVAL_GC_THRESHOLD = env_float("BIVOUAC_EVAL_GC_THRESHOLD", 3600, low=1, high=1e9)
BIVOUAC_BATCH_EVAL_GC_THRESHOLD = env_float(
    "BIVOUAC_BATCH_EVAL_GC_THRESHOLD", 86400, low=1, high=1e9
)
BIVOUAC_JOB_GC_INTERVAL = env_float("BIVOUAC_JOB_GC_INTERVAL", 300, low=1, high=86400)
BIVOUAC_JOB_GC_THRESHOLD = env_float("BIVOUAC_JOB_GC_THRESHOLD", 14400, low=1, high=1e9)
BIVOUAC_DEPLOYMENT_GC_INTERVAL = env_float(
    "BIVOUAC_DEPLOYMENT_GC_INTERVAL", 300, low=1, high=86400
)
BIVOUAC_DEPLOYMENT_GC_THRESHOLD = env_float(
    "BIVOUAC_DEPLOYMENT_GC_THRESHOLD", 3600, low=1, high=1e9
)
BIVOUAC_NODE_GC_INTERVAL = env_float("BIVOUAC_NODE_GC_INTERVAL", 300, low=1, high=86400)
BIVOUAC_NODE_GC_THRESHOLD = env_float("BIVOUAC_NODE_GC_THRESHOLD", 86400, low=1, high=1e9)
BIVOUAC_ACL_TOKEN_GC_INTERVAL = env_float("BIVOUAC_ACL_TOKEN_GC_INTERVAL", 300, low=1, high=86400)
BIVOUAC_ACL_TOKEN_GC_THRESHOLD = env_float("BIVOUAC_ACL_TOKEN_GC_THRESHOLD", 3600, low=1, high=1e9)
BIVOUAC_EVENT_HOURS = env_float("BIVOUAC_EVENT_HOURS", 24, low=0.01, high=24 * 365)
BIVOUAC_EVENT_BYTES = env_int("BIVOUAC_EVENT_BYTES", 2 * 1024**3, low=1024**2, high=2**50)
#: Of each job: how many runs stay explained, and within how many bytes.
BIVOUAC_EXPLAINED_RUNS = env_int("BIVOUAC_EXPLAINED_RUNS", 20, low=1, high=1000)
BIVOUAC_EXPLAINED_BYTES = env_int("BIVOUAC_EXPLAINED_BYTES", 256 * 1024, low=1024, high=2**40)
#: Of one rehearsal: how long it may take, and how much memory; how many are kept, and how long.
BIVOUAC_REHEARSAL_SECONDS = env_float("BIVOUAC_REHEARSAL_SECONDS", 60, low=1, high=3600)
BIVOUAC_REHEARSAL_MEMORY_MIB = env_int("BIVOUAC_REHEARSAL_MEMORY_MIB", 2048, low=256, high=2**20)
BIVOUAC_REHEARSALS = env_int("BIVOUAC_REHEARSALS", 50, low=1, high=1000)
BIVOUAC_REHEARSAL_HOURS = env_float("BIVOUAC_REHEARSAL_HOURS", 24, low=0.01, high=24 * 365)
#: Drivers whose tasks run without isolation: only who has `submit-privileged-job` may use them.
BIVOUAC_PRIVILEGED_DRIVERS = env_words("BIVOUAC_PRIVILEGED_DRIVERS", "raw_exec")
#: Requests a second of each token, account and unknown address, and how many at once; 0: no limit.
BIVOUAC_RATE = env_float("BIVOUAC_RATE", 200, low=0, high=1e6)
BIVOUAC_BURST = env_float("BIVOUAC_BURST", 2000, low=1, high=1e7)
#: The same of management tokens, which submit in bulk.
BIVOUAC_RATE_MANAGEMENT = env_float("BIVOUAC_RATE_MANAGEMENT", 0, low=0, high=1e6)
#: Fuzzy search: the shortest text, in bytes, and how many objects of each kind are looked at.
BIVOUAC_SEARCH_MIN_LENGTH = env_int("BIVOUAC_SEARCH_MIN_LENGTH", 2, low=1, high=100)
#: Of so many jobs, and so many nodes, metrics tell one by one.
BIVOUAC_METRICS_OBJECTS = env_int("BIVOUAC_METRICS_OBJECTS", 1_000, low=0, high=10**5)
BIVOUAC_SEARCH_OBJECTS = env_int("BIVOUAC_SEARCH_OBJECTS", 1_000, low=1, high=10**6)
#: What the agent beside this server keeps, if `up` started one: client routes that name no node
#: mean that one. Empty on a pure server.
BIVOUAC_LOCAL_AGENT_DIR = env_text("BIVOUAC_LOCAL_AGENT_DIR")
#: Days that the audit is kept.
BIVOUAC_AUDIT_KEEP = env_float("BIVOUAC_AUDIT_KEEP", 90, low=0.01, high=36_500)
#: How long what is left of collected evaluations and purged jobs is kept, and how many at most.
BIVOUAC_STUB_DAYS = env_float("BIVOUAC_STUB_DAYS", 30, low=0.01, high=3650)
BIVOUAC_STUB_COUNT = env_int("BIVOUAC_STUB_COUNT", 200_000, low=0, high=10**9)
#: Of each process's log: bytes before it is begun anew, and older parts beside it.
BIVOUAC_LOG_BYTES = env_int("BIVOUAC_LOG_BYTES", 20 * 1024**2, low=64 * 1024, high=2**40)
BIVOUAC_LOG_FILES = env_int("BIVOUAC_LOG_FILES", 3, low=0, high=100)
#: Seconds that API tokens which expire may live.
BIVOUAC_TOKEN_MIN_TTL = env_int("BIVOUAC_TOKEN_MIN_TTL", 60, low=1, high=365 * 86400)
BIVOUAC_TOKEN_MAX_TTL = env_int("BIVOUAC_TOKEN_MAX_TTL", 86400, low=60, high=10 * 365 * 86400)

SECRET_KEY = env_secret("BIVOUAC_SECRET_KEY", BIVOUAC_DATA_DIR / "secret-key")
DEBUG = False
_PUBLIC = urlsplit(BIVOUAC_PUBLIC_URL)
ALLOWED_HOSTS = sorted({_PUBLIC.hostname or "localhost", BIVOUAC_HOST, "127.0.0.1", "localhost"})
#: Pages always check the name they are asked by; the API does once it was given one.
API_CHECKS_HOST = bool(env_text("BIVOUAC_PUBLIC_URL"))
#: Where our own pages live; for websockets as well.
CSRF_TRUSTED_ORIGINS = [BIVOUAC_PUBLIC_URL]
if _PUBLIC.scheme == "http":
    CSRF_TRUSTED_ORIGINS.append(f"http://localhost:{BIVOUAC_PORT}")

INSTALLED_APPS = [
    "dashboard.apps.OperatorSiteConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "cluster",
    "dashboard.apps.DashboardConfig",
]

#: Of pages. The API and the agents' door run with the first one alone (cluster.asgi): each further
#: one costs a change of thread per request.
MIDDLEWARE = [
    "cluster.runtime.request_context.request_context",
    "django.middleware.security.SecurityMiddleware",
    "dashboard.security.security_headers",
    "dashboard.languages.language",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "dashboard.page_rates.page_rates",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "dashboard.faults.fault_pages",
    "cluster.api.bearers.bearer_context",
]
API_MIDDLEWARE = ["cluster.runtime.request_context.request_context"]

ROOT_URLCONF = "cluster.urls"
ASGI_APPLICATION = "cluster.asgi.application"
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [SHARED_FILES / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

DATABASES = {
    "default": database_from(env_text("DATABASE_URL"), BIVOUAC_DATA_DIR / "state.sqlite3")
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTHENTICATION_BACKENDS = [
    "dashboard.throttle.Throttle",
    "django.contrib.auth.backends.ModelBackend",
    *(["dashboard.provider_sign_in.ProviderBackend"] if BIVOUAC_OIDC_ISSUER else []),
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.ScryptPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
CSRF_FAILURE_VIEW = "dashboard.views.errors.csrf_failure"
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"

_SECURE = _PUBLIC.scheme == "https"
SESSION_COOKIE_NAME = "__Host-bivouac" if _SECURE else "bivouac"
SESSION_COOKIE_SECURE = _SECURE
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
#: Seconds a browser stays signed in.
SESSION_COOKIE_AGE = round(env_float("BIVOUAC_SESSION_DAYS", 14, low=0.01, high=365) * 24 * 3600)
CSRF_COOKIE_NAME = "__Host-bivouac-csrf" if _SECURE else "bivouac-csrf"
CSRF_COOKIE_SECURE = _SECURE
CSRF_COOKIE_SAMESITE = "Lax"
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if _SECURE else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = _SECURE
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_PROXY_SSL_HEADER = (
    ("HTTP_X_FORWARDED_PROTO", "https") if env_bool("BIVOUAC_TRUST_PROXY", default=False) else None
)
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 4 * 1024 * 1024

STATIC_URL = "/static/"
STATICFILES_DIRS = [SHARED_FILES / "static"]

LANGUAGE_CODE = "en"
#: What there are texts in; `dashboard/README.md` says how another one comes.
LANGUAGES = [("en", "English")]
LOCALE_PATHS = [BASE_DIR / "dashboard" / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = True

CELERY_BROKER_URL = BIVOUAC_REDIS_URL
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_SERIALIZER = "json"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600}
CELERY_TASK_DEFAULT_QUEUE = "evaluations"
CELERY_TASK_ROUTES = {
    "cluster.runtime.worker_tasks.drain_evaluations": {"queue": "evaluations"},
    "cluster.runtime.applier_task.drain_plans": {"queue": "plans"},
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"},
    },
    "filters": {
        "links": {"()": "cluster.log_lines.HideLinks"},
        "faults": {"()": "django.utils.log.CallbackFilter", "callback": is_fault},
    },
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["links"]}
    },
    "root": {"handlers": ["stderr"], "level": env_text("BIVOUAC_LOG_LEVEL", "INFO").upper()},
    "loggers": {
        # What callers do wrong is said to them; else everybody could fill the log.
        "uvicorn": {"level": "ERROR"},
        "httpx": {"level": "WARNING"},
        "django.request": {"level": "ERROR", "filters": ["faults"]},
    },
}
