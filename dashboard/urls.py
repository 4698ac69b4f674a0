"""Where each page lives."""

from django.urls import path

from dashboard.views import login

urlpatterns = [
    path("login/", login.sign_in, name="login"),
    path("login/once/<str:secret>", login.sign_in_once, name="login-once"),
    path("logout/", login.sign_out, name="logout"),
]
